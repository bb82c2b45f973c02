import { Page, Skeleton } from '@/ui'

export default function AccountPage() {
  return (
    <Page title="Account">
      <Skeleton lines={4} />
    </Page>
  )
}
