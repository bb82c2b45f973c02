import { Building2 } from 'lucide-react'
import type { ReactNode } from 'react'

import { ButtonLink, Empty, ErrorNotice, Page, Skeleton } from '@/ui'

import { CurrentWorkspace, useWorkspaces } from './workspace'

/** A page of one workspace: it is mounted anew when another is chosen. */
export function Scoped({ children }: { children: ReactNode }) {
  const { workspace, loading, error } = useWorkspaces()
  if (workspace) {
    return (
      <CurrentWorkspace value={workspace} key={workspace.id}>
        {children}
      </CurrentWorkspace>
    )
  }
  return (
    <Page title="Workspace">
      {loading && <Skeleton lines={4} />}
      {Boolean(error) && <ErrorNotice error={error} />}
      {!loading && !error && (
        <Empty
          icon={<Building2 size={20} />}
          title="There is no workspace yet"
          actions={
            <ButtonLink to="/workspaces" variant="primary">
              Make a workspace
            </ButtonLink>
          }
        >
          <p>Sources, nodes and searches are each inside a workspace.</p>
        </Empty>
      )}
    </Page>
  )
}
