import { useQuery } from '@tanstack/react-query'
import { KeyRound, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { api, ApiError, type WorkspaceDeletion, type WorkspaceDetail } from '@/api'
import { ConfirmRemoval } from '@/app/ConfirmRemoval'
import { WORKSPACES } from '@/app/workspace'
import {
  Badge,
  Button,
  ButtonLink,
  Copyable,
  Dialog,
  ErrorNotice,
  Facts,
  Meter,
  Name,
  Notice,
  num,
  plural,
  Progress,
  Skeleton,
  Time,
} from '@/ui'

import { EditWorkspace } from './Form'

/** The details of a workspace, beside the list: its state and its actions. */
export function Details({ id, onClose }: { id: string; onClose: () => void }) {
  const [dialog, setDialog] = useState<'nothing' | 'edit' | 'delete'>('nothing')
  const [deleting, setDeleting] = useState(false)
  const detail = useQuery({
    queryKey: [...WORKSPACES, 'detail', id],
    queryFn: ({ signal }) => api.get<WorkspaceDetail>(`/workspaces/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: deleting ? false : 5_000,
    enabled: !deleting,
  })
  const w = detail.data
  const deleted = detail.error instanceof ApiError && detail.error.status === 404
  return (
    <Dialog
      open
      side
      onClose={onClose}
      title={w ? <Name text={w.name} max={200} /> : 'Workspace'}
      footer={
        w &&
        !deleting &&
        !deleted && (
          <>
            <Button icon={<Trash2 size={14} />} onClick={() => setDialog('delete')}>
              Delete
            </Button>
            <ButtonLink to={`/keys?workspaceId=${w.id}`} icon={<KeyRound size={14} />}>
              Keys
            </ButtonLink>
            <Button variant="primary" icon={<Pencil size={14} />} onClick={() => setDialog('edit')}>
              Change
            </Button>
          </>
        )
      }
    >
      {deleting || deleted ? (
        <Deletion id={id} />
      ) : (
        <>
          {detail.isPending && <Skeleton lines={8} />}
          {detail.error && !w && <ErrorNotice error={detail.error} onRetry={() => void detail.refetch()} />}
          {w && <WorkspaceStatus w={w} />}
        </>
      )}
      {w && dialog === 'edit' && <EditWorkspace workspace={w} onClose={() => setDialog('nothing')} />}
      {w && (
        <DeleteWorkspace
          workspace={w}
          open={dialog === 'delete'}
          onClose={() => setDialog('nothing')}
          onDeleted={() => {
            setDialog('nothing')
            setDeleting(true)
          }}
        />
      )}
    </Dialog>
  )
}

function WorkspaceStatus({ w }: { w: WorkspaceDetail }) {
  const { minute, day } = w.standing
  return (
    <div className="stack workspaces-standing">
      <section className="stack">
        <h3>Limits</h3>
        {minute.limit === null ? (
          <Facts items={[['Requests', 'unlimited; not counted']]} />
        ) : (
          <>
            <Meter label="Requests this minute" value={minute.used ?? 0} max={minute.limit} />
            <Meter label="Requests today (UTC)" value={day.used ?? 0} max={day.limit} />
          </>
        )}
        <Meter label="Sources" value={w.sources} max={w.limits.sources} />
        <Meter label="Series" value={w.series} max={w.limits.series} />
      </section>
      <section className="stack">
        <h3>Content</h3>
        <Facts
          items={[
            ['Nodes', num(w.nodes)],
            ['Edges', num(w.edges)],
            ['Valid keys', num(w.keys)],
            ['Retention of points', w.retentionDays === null ? 'permanent' : plural(w.retentionDays, 'day')],
          ]}
        />
      </section>
      <section className="stack">
        <h3>Details</h3>
        <Facts
          items={[
            ['Id', <Copyable key="id" text={w.id} label="Copy the id" />],
            ['Plan', <Badge key="plan">{w.plan}</Badge>],
            ['Mode', <Badge key="mode">{w.mode}</Badge>],
            ['Created', <Time key="made" at={w.createdAt} absolute />],
            ['Changed', <Time key="changed" at={w.updatedAt} absolute />],
          ]}
        />
      </section>
    </div>
  )
}

function DeleteWorkspace({
  workspace,
  open,
  onClose,
  onDeleted,
}: {
  workspace: WorkspaceDetail
  open: boolean
  onClose: () => void
  onDeleted: () => void
}) {
  // A name that cannot be typed is confirmed by the start of the id.
  const phrase = /^[\x20-\x7e]{1,40}$/.test(workspace.name) ? workspace.name : workspace.id.slice(0, 8)
  return (
    <ConfirmRemoval
      open={open}
      onClose={onClose}
      title="Delete this workspace?"
      action="Delete workspace"
      phrase={phrase}
      path={`/workspaces/${workspace.id}`}
      lists={[...WORKSPACES, 'all']}
      successTitle="The workspace is closed"
      successText="Its data is being removed."
      onDone={onDeleted}
    >
      <p>
        {plural(workspace.sources, 'source')} with all points, {plural(workspace.nodes, 'node')},{' '}
        {plural(workspace.edges, 'edge')} and all vectors are removed from every store.{' '}
        {plural(workspace.keys, 'key')} {workspace.keys === 1 ? 'stops' : 'stop'} opening it within a second.
      </p>
      <p>
        <b>This cannot be undone.</b>
      </p>
    </ConfirmRemoval>
  )
}

/** The progress of the removal from the stores. */
function Deletion({ id }: { id: string }) {
  const deletion = useQuery({
    queryKey: ['workspace-deletion', id],
    queryFn: ({ signal }) =>
      api.get<WorkspaceDeletion>(`/workspaces/${encodeURIComponent(id)}/deletion`, { signal }),
    refetchInterval: (query) => (query.state.data?.deleted ? false : 1_000),
  })
  const d = deletion.data
  if (deletion.error && !d) return <ErrorNotice error={deletion.error} />
  if (!d) return <Skeleton lines={5} />
  return (
    <div className="stack">
      {d.deleted ? (
        <Notice tone="ok" title="All data is removed">
          <p>
            <Time at={d.removedAt} absolute />
          </p>
        </Notice>
      ) : (
        <Notice title="The data is being removed">
          <p>No key opens it any more. You can close this window; the removal continues.</p>
        </Notice>
      )}
      {d.problem && (
        <Notice tone="warn" title="The removal makes no progress at the moment">
          <p>{d.problem}</p>
        </Notice>
      )}
      {d.stores.map((item) => (
        <div key={item.store} className="stack workspaces-store">
          <div className="row spread">
            <b>{item.store}</b>
            <span className="muted">
              {item.done ? 'empty' : `${num(item.left)} of ${plural(item.found, 'row')} left`}
            </span>
          </div>
          <Progress
            label={`Removed from ${item.store}`}
            value={item.done ? 1 : item.found - item.left}
            max={item.done ? 1 : Math.max(item.found, 1)}
          />
        </div>
      ))}
    </div>
  )
}
