import { Building2 } from 'lucide-react'
import type { ReactNode } from 'react'

import { ButtonLink, Copyable, Empty, ErrorNotice, Page, Panel, Skeleton, visible } from '@/ui'

import { CurrentWorkspace, useWorkspaces } from './workspace'

/** Provides the selected workspace to a page. The page is mounted again when another workspace is selected. */
export function RequireWorkspace({ children }: { children: ReactNode }) {
  const { workspace, missing, loading, error, retry } = useWorkspaces()
  if (workspace) {
    return (
      <CurrentWorkspace value={workspace} key={workspace.id}>
        {children}
      </CurrentWorkspace>
    )
  }
  if (missing !== null) return <WorkspaceNotFound id={missing} />
  return (
    <Page title="Workspace">
      {loading && <Skeleton lines={4} />}
      {Boolean(error) && <ErrorNotice error={error} onRetry={retry} />}
      {!loading && !error && (
        <Empty
          icon={<Building2 size={20} />}
          title="There is no workspace yet"
          actions={
            <ButtonLink to="/workspaces" variant="primary">
              New workspace
            </ButtonLink>
          }
        >
          <p>Every source, node and search belongs to a workspace.</p>
        </Empty>
      )}
    </Page>
  )
}

/**
 * Shown when the workspace of the URL does not exist. No other workspace is shown instead, because it could be
 * mistaken for the requested one.
 */
function WorkspaceNotFound({ id }: { id: string }) {
  return (
    <Page title="Workspace">
      <Panel>
        <Empty
          icon={<Building2 size={20} />}
          title="Workspace not found"
          actions={
            <ButtonLink to="/workspaces" variant="primary">
              All workspaces
            </ButtonLink>
          }
        >
          <p>
            It was deleted, or the URL is incomplete. Choose another workspace at the top of the navigation.
          </p>
          <p>
            <Copyable text={id} shown={visible(id, 80)} label="Copy the id" />
          </p>
        </Empty>
      </Panel>
    </Page>
  )
}
