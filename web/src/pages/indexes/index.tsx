import { Page, Skeleton } from '@/ui'

export default function IndexesPage() {
  return (
    <Page title="Indexes">
      <Skeleton lines={4} />
    </Page>
  )
}
