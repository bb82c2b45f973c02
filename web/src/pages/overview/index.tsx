import { Page, Skeleton } from '@/ui'

export default function OverviewPage() {
  return (
    <Page title="Overview">
      <Skeleton lines={4} />
    </Page>
  )
}
