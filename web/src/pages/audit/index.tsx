import { Page, Skeleton } from '@/ui'

export default function AuditPage() {
  return (
    <Page title="Audit">
      <Skeleton lines={4} />
    </Page>
  )
}
