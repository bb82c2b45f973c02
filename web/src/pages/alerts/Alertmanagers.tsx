import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { BellRing, Pencil, Plus } from 'lucide-react'
import { useState } from 'react'

import { useWorkspace } from '@/app/workspace'
import {
  Badge,
  Button,
  Dialog,
  Empty,
  ErrorNotice,
  fieldError,
  Name,
  Notice,
  Panel,
  plural,
  Table,
  Time,
  useToast,
  visible,
  type Column,
} from '@/ui'

import { AlertmanagerRows } from './AlertmanagerRows'
import { keyOf } from './data'
import {
  type Alertmanager,
  draftOf,
  EMPTY,
  MAX_ALERTMANAGERS,
  readAlertmanagers,
  saveAlertmanagers,
  type StoredAlertmanagers,
} from './writes'

const COLUMNS: readonly Column<Alertmanager>[] = [
  { id: 'url', head: 'Address', primary: true, cell: ({ url }) => <Name text={url} max={200} /> },
  { id: 'authorization', head: 'Authorization', cell: authorizationOf },
  {
    id: 'headers',
    head: 'Headers',
    cell: ({ headers }) =>
      headers.length > 0 ? <Name text={headers.map(({ name }) => name).join(', ')} max={200} /> : 'None',
  },
  { id: 'result', head: 'Last request', cell: (manager) => <Result of={manager} /> },
]

/** Whether alerts reach an Alertmanager. */
function Result({ of: { lastError, lastFailedAt, lastSentAt } }: { of: Alertmanager }) {
  if (lastError === null) {
    if (lastSentAt === null) return <span className="muted">None yet</span>
    return (
      <span className="row">
        <Badge tone="ok" dot>
          accepted
        </Badge>
        <Time at={lastSentAt} />
      </span>
    )
  }
  return (
    <div className="alerts-name">
      <span className="row">
        <Badge tone="bad" dot>
          failed
        </Badge>
        <Time at={lastFailedAt} />
      </span>
      <span className="muted">{visible(lastError, 200)}</span>
    </div>
  )
}

function authorizationOf({ authorization }: Alertmanager) {
  if (!authorization) return 'None'
  if (authorization.type === 'bearer') return 'Bearer token'
  return <Name text={`User ${authorization.username ?? ''}`} max={100} />
}

/** The Alertmanagers of a workspace. */
export function Alertmanagers() {
  const { id } = useWorkspace()
  const [editing, setEditing] = useState<StoredAlertmanagers | null>(null)
  const list = useQuery({
    queryKey: [...keyOf(id), 'alertmanagers'],
    queryFn: ({ signal }) => readAlertmanagers(id, signal),
    refetchInterval: 10_000,
  })
  if (list.error && !list.data) {
    return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  }
  const stored = list.data
  const rows = stored?.alertmanagers
  return (
    <div className="stack">
      <Panel
        flush
        title={rows ? rows.length > 0 && plural(rows.length, 'Alertmanager') : 'Alertmanagers'}
        note={`at most ${MAX_ALERTMANAGERS}`}
        actions={
          stored &&
          stored.alertmanagers.length > 0 && (
            <Button icon={<Pencil size={14} />} onClick={() => setEditing(stored)}>
              Edit
            </Button>
          )
        }
      >
        <Table
          label="Alertmanagers"
          columns={COLUMNS}
          rows={rows}
          rowKey={({ url }) => url}
          loading={list.isPending}
          empty={
            <Empty
              icon={<BellRing size={20} />}
              title="No Alertmanagers yet"
              actions={
                <Button
                  variant="primary"
                  icon={<Plus size={16} />}
                  onClick={() => stored && setEditing(stored)}
                >
                  Add an Alertmanager
                </Button>
              }
            >
              <p>An Alertmanager groups the alerts of the workspace and sends them to people.</p>
            </Empty>
          }
        />
      </Panel>
      {editing && <AlertmanagersForm workspace={id} stored={editing} onClose={() => setEditing(null)} />}
    </div>
  )
}

interface FormProps {
  workspace: string
  stored: StoredAlertmanagers
  onClose: () => void
}

function AlertmanagersForm({ workspace, stored, onClose }: FormProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const [rows, setRows] = useState(() =>
    stored.alertmanagers.length > 0 ? stored.alertmanagers.map(draftOf) : [EMPTY],
  )
  const [base, setBase] = useState(stored)
  // Rows without an address are not sent.
  const filled = rows.filter(({ url }) => url.trim())
  const save = useMutation({
    mutationFn: () =>
      saveAlertmanagers(
        workspace,
        filled.map((row) => ({ ...row, url: row.url.trim() })),
        base,
      ),
    onSuccess: async (outcome) => {
      await queries.invalidateQueries({ queryKey: keyOf(workspace) })
      if (!outcome.saved) return
      toast.ok('Alertmanagers saved', filled.length > 0 ? undefined : 'Alerts are no longer sent to any.')
      onClose()
    },
  })
  const theirs = save.data?.saved === false ? save.data.theirs : null
  const change = (next: typeof rows) => {
    if (save.isError) save.reset()
    setRows(next)
  }
  const errorOf = (row: (typeof rows)[number], field: string) =>
    fieldError(save.error, `alertmanagers[${filled.indexOf(row)}].${field}`)
  const isShown = filled.some((row) =>
    ['url', 'authorization.username', 'authorization.password', 'authorization.token']
      .concat(row.headers.flatMap((_, i) => [`headers[${i}].name`, `headers[${i}].value`]))
      .some((field) => errorOf(row, field)),
  )
  return (
    <Dialog
      open
      sticky
      onClose={onClose}
      title="Alertmanagers"
      lead="All of them get alerts: at the beginning, every minute while they fire, and at the end."
      onSubmit={() => !save.isPending && !theirs && save.mutate()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={save.isPending} disabled={Boolean(theirs)}>
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        {theirs && (
          <Notice tone="warn" title="Somebody else changed the list">
            <p>
              Your changes are not saved yet.{' '}
              {theirs.alertmanagers.length > 0 ? 'The list is now:' : 'The list is now empty.'}
            </p>
            <ul className="alerts-theirs">
              {theirs.alertmanagers.map(({ url }) => (
                <li key={url}>{visible(url, 200)}</li>
              ))}
            </ul>
            <div className="row alerts-conflict-actions">
              <Button
                size="s"
                variant="primary"
                onClick={() => {
                  setBase(theirs)
                  save.reset()
                }}
              >
                Overwrite their changes
              </Button>
              <Button
                size="s"
                onClick={() => {
                  setBase(theirs)
                  setRows(theirs.alertmanagers.map(draftOf))
                  save.reset()
                }}
              >
                Load the stored version
              </Button>
            </div>
            <p className="muted">Your changes stay below until you load the stored version.</p>
          </Notice>
        )}
        <AlertmanagerRows rows={rows} stored={base.alertmanagers} onChange={change} errorOf={errorOf} />
        {save.error && !isShown && <ErrorNotice error={save.error} compact />}
      </div>
    </Dialog>
  )
}
