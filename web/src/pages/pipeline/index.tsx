import { Page, Skeleton } from '@/ui'

export default function PipelinePage() {
  return (
    <Page title="Pipeline">
      <Skeleton lines={4} />
    </Page>
  )
}
