import { Page, Skeleton } from '@/ui'

export default function SearchPage() {
  return (
    <Page title="Search">
      <Skeleton lines={4} />
    </Page>
  )
}
