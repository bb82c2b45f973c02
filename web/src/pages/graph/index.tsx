import { Page, Skeleton } from '@/ui'

export default function GraphPage() {
  return (
    <Page title="Graph">
      <Skeleton lines={4} />
    </Page>
  )
}
