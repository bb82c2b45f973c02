import { Page, Skeleton } from '@/ui'

export default function KeysPage() {
  return (
    <Page title="Keys">
      <Skeleton lines={4} />
    </Page>
  )
}
