import { Page, Skeleton } from '@/ui'

export default function WorkspacesPage() {
  return (
    <Page title="Workspaces">
      <Skeleton lines={4} />
    </Page>
  )
}
