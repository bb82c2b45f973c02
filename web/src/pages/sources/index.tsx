import { Page, Skeleton } from '@/ui'

export default function SourcesPage() {
  return (
    <Page title="Sources">
      <Skeleton lines={4} />
    </Page>
  )
}
