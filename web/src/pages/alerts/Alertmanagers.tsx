import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { BellRing, Pencil, Plus, X } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'

import { useWorkspace } from '@/app/workspace'
import {
  Button,
  Dialog,
  Empty,
  ErrorNotice,
  Field,
  fieldError,
  Group,
  IconButton,
  Input,
  Name,
  Notice,
  Panel,
  plural,
  Table,
  useToast,
  visible,
  type Column,
} from '@/ui'

import { keyOf } from './data'
import { MAX_ALERTMANAGERS, readAlertmanagers, saveAlertmanagers, type StoredAlertmanagers } from './writes'

const COLUMNS: readonly Column<string>[] = [
  { id: 'url', head: 'Address', primary: true, cell: (url) => <Name text={url} max={200} /> },
]

/** The Alertmanagers of a workspace. */
export function Alertmanagers() {
  const { id } = useWorkspace()
  const [editing, setEditing] = useState<StoredAlertmanagers | null>(null)
  const list = useQuery({
    queryKey: [...keyOf(id), 'alertmanagers'],
    queryFn: ({ signal }) => readAlertmanagers(id, signal),
  })
  if (list.error && !list.data) {
    return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  }
  const stored = list.data
  const urls = stored?.urls
  return (
    <div className="stack">
      <Panel
        flush
        title={urls ? urls.length > 0 && plural(urls.length, 'Alertmanager') : 'Alertmanagers'}
        note={`at most ${MAX_ALERTMANAGERS}`}
        actions={
          stored &&
          stored.urls.length > 0 && (
            <Button icon={<Pencil size={14} />} onClick={() => setEditing(stored)}>
              Edit
            </Button>
          )
        }
      >
        <Table
          label="Alertmanagers"
          columns={COLUMNS}
          rows={urls}
          rowKey={(url) => url}
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
  const [rows, setRows] = useState<readonly string[]>(stored.urls.length > 0 ? stored.urls : [''])
  const [base, setBase] = useState(stored)
  // The indexes of the rows that are sent: empty ones are not.
  const filled = rows.flatMap((row, i) => (row.trim() ? [i] : []))
  const save = useMutation({
    mutationFn: () =>
      saveAlertmanagers(
        workspace,
        filled.map((i) => rows[i]?.trim() ?? ''),
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
  const change = (next: readonly string[]) => {
    if (save.isError) save.reset()
    setRows(next)
  }
  const rowError = (i: number) => fieldError(save.error, `urls[${filled.indexOf(i)}]`)
  const isShown = rows.some((_, i) => rowError(i))
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
              {theirs.urls.length > 0 ? 'The list is now:' : 'The list is now empty.'}
            </p>
            <ul className="alerts-theirs">
              {theirs.urls.map((url) => (
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
                  setRows(theirs.urls)
                  save.reset()
                }}
              >
                Load the stored version
              </Button>
            </div>
            <p className="muted">Your addresses stay below until you load the stored version.</p>
          </Notice>
        )}
        <AddressRows rows={rows} onChange={change} errorOf={rowError} />
        {save.error && !isShown && <ErrorNotice error={save.error} compact />}
      </div>
    </Dialog>
  )
}

interface AddressRowsProps {
  rows: readonly string[]
  onChange: (rows: readonly string[]) => void
  errorOf: (i: number) => string | undefined
}

function AddressRows({ rows, onChange, errorOf }: AddressRowsProps) {
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef(rows.length)
  // A new row gets the focus.
  useEffect(() => {
    if (rows.length > shown.current) [...(box.current?.querySelectorAll('input') ?? [])].at(-1)?.focus()
    shown.current = rows.length
  }, [rows.length])
  return (
    <Group
      label="Addresses"
      hint="Without /api/v2/alerts. Private addresses are refused unless the operator allows them."
    >
      <div className="alerts-rows" ref={box}>
        {rows.map((row, i) => (
          <div className="alerts-rows-line" key={i}>
            <Field label={`Address ${i + 1}`} hideLabel error={errorOf(i)}>
              <Input
                type="url"
                placeholder="https://alerts.example.com"
                spellCheck={false}
                maxLength={2000}
                value={row}
                onChange={(e) => onChange(rows.map((old, at) => (at === i ? e.target.value : old)))}
              />
            </Field>
            <IconButton
              label={`Remove address ${i + 1}`}
              onClick={() => onChange(rows.filter((_, at) => at !== i))}
            >
              <X size={14} />
            </IconButton>
          </div>
        ))}
      </div>
      <div className="row">
        <Button
          size="s"
          icon={<Plus size={14} />}
          disabled={rows.length >= MAX_ALERTMANAGERS}
          onClick={() => onChange([...rows, ''])}
        >
          Add an address
        </Button>
      </div>
    </Group>
  )
}
