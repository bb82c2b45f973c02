import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { api, type NewOperator, type Operator } from '@/api'
import { useSession } from '@/app/session'
import {
  Badge,
  Button,
  Confirm,
  CopyButton,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  IconButton,
  Input,
  Name,
  Notice,
  num,
  Panel,
  Table,
  Time,
  useToast,
  type Column,
} from '@/ui'

const OPERATORS = ['operators'] as const

/** Everybody who may log in. Each may do everything. */
export function Operators() {
  const { data: session } = useSession()
  const [adding, setAdding] = useState(false)
  const [removing, setRemoving] = useState<Operator | null>(null)
  const list = useQuery({
    queryKey: OPERATORS,
    queryFn: ({ signal }) => api.list<Operator>('/operators', { signal }),
  })
  const me = session?.operator.id
  const columns: Column<Operator>[] = [
    {
      id: 'name',
      head: 'Name',
      primary: true,
      cell: (o) => (
        <span className="row">
          <Name text={o.name} strong />
          {o.id === me && <Badge tone="accent">you</Badge>}
        </span>
      ),
    },
    { id: 'login', head: 'Last login', cell: (o) => <Time at={o.lastLoginAt} none="never" /> },
    { id: 'from', head: 'From', wide: true, cell: (o) => <code>{o.lastLoginIp ?? '–'}</code> },
    { id: 'sessions', head: 'Open sessions', numeric: true, cell: (o) => num(o.sessions) },
    { id: 'password', head: 'Password set', wide: true, cell: (o) => <Time at={o.updatedAt} /> },
    {
      id: 'do',
      head: '',
      label: 'Actions',
      narrow: true,
      cell: (o) =>
        o.id !== me && (
          <IconButton label={`Delete ${o.name}`} size="s" onClick={() => setRemoving(o)}>
            <Trash2 size={14} />
          </IconButton>
        ),
    },
  ]
  return (
    <Panel
      flush
      title="Operators"
      note="Each may do everything on this page"
      actions={
        <Button size="s" icon={<Plus size={14} />} onClick={() => setAdding(true)}>
          New operator
        </Button>
      }
    >
      {list.error && !list.data ? (
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} compact />
      ) : (
        <Table
          label="Operators"
          columns={columns}
          rows={list.data?.data}
          rowKey={(o) => o.id}
          loading={list.isPending}
          skeletonRows={2}
        />
      )}
      {adding && <AddOperator onClose={() => setAdding(false)} />}
      {removing && <RemoveOperator operator={removing} onClose={() => setRemoving(null)} />}
    </Panel>
  )
}

function AddOperator({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [made, setMade] = useState<{ name: string; password: string } | null>(null)
  const add = useMutation({
    // The password goes past the cache of mutations.
    mutationFn: async () => {
      const operator = await api.post<NewOperator>('/operators', { body: { name } })
      setMade({ name: operator.name, password: operator.password ?? '' })
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: OPERATORS }),
  })
  if (made) {
    return (
      <Dialog
        open
        sticky
        onClose={onClose}
        size="s"
        title="The new operator"
        footer={<Button onClick={onClose}>I have kept it</Button>}
      >
        <div className="stack">
          <Notice tone="warn" title="The password is shown once">
            <p>
              Give it to <Name text={made.name} strong />, who should set another after the first login.
            </p>
          </Notice>
          <div className="account-text">
            <code data-secret="password">{made.password}</code>
            <CopyButton text={made.password}>Copy</CopyButton>
          </div>
        </div>
      </Dialog>
    )
  }
  return (
    <Dialog
      open
      onClose={onClose}
      size="s"
      title="New operator"
      lead="A password is made and shown once."
      onSubmit={() => name && !add.isPending && add.mutate()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={add.isPending} disabled={!name}>
            Make operator
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field label="Name" hint="Letters, digits, and . _ @ + -" error={fieldError(add.error, 'name')}>
          <Input
            value={name}
            maxLength={64}
            autoCapitalize="none"
            spellCheck={false}
            onChange={(e) => setName(e.target.value)}
          />
        </Field>
        {add.error && !fieldError(add.error, 'name') && <ErrorNotice error={add.error} compact />}
      </div>
    </Dialog>
  )
}

function RemoveOperator({ operator, onClose }: { operator: Operator; onClose: () => void }) {
  const queries = useQueryClient()
  const toast = useToast()
  const remove = useMutation({
    mutationFn: () => api.del(`/operators/${operator.id}`),
    onSuccess: async () => {
      toast.ok('Operator deleted')
      onClose()
      await queries.invalidateQueries({ queryKey: OPERATORS })
    },
  })
  return (
    <Confirm
      open
      onClose={onClose}
      title="Delete this operator?"
      action="Delete"
      danger
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      error={remove.error}
    >
      <p>
        <Name text={operator.name} strong /> is logged out everywhere at once and cannot log in again. What
        was done under the name stays in the audit log.
      </p>
    </Confirm>
  )
}
