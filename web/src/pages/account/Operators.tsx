import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { api, type Operator } from '@/api'
import { ConfirmRemoval } from '@/app/ConfirmRemoval'
import { useShowDialog } from '@/app/dialogs'
import { useSession } from '@/app/session'
import {
  Badge,
  Button,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  IconButton,
  Input,
  Name,
  num,
  Panel,
  Table,
  Time,
  type Column,
} from '@/ui'

import { OPERATORS } from './operators'
import { NewPasswordDialog } from './NewPasswordDialog'
import { ResetPassword } from './ResetPassword'

/** The list of operators. All operators have the same permissions. */
export function Operators() {
  const { data: session } = useSession()
  const [adding, setAdding] = useState(false)
  const [action, setAction] = useState<{ what: 'reset' | 'delete'; to: Operator } | null>(null)
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
          <span className="row-actions">
            <IconButton
              label={`Reset the password of ${o.name}`}
              size="s"
              onClick={() => setAction({ what: 'reset', to: o })}
            >
              <KeyRound size={14} />
            </IconButton>
            <IconButton
              label={`Delete ${o.name}`}
              size="s"
              onClick={() => setAction({ what: 'delete', to: o })}
            >
              <Trash2 size={14} />
            </IconButton>
          </span>
        ),
    },
  ]
  return (
    <Panel
      flush
      title="Operators"
      note="Every operator has full access"
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
      {action?.what === 'reset' && <ResetPassword operator={action.to} onClose={() => setAction(null)} />}
      {action?.what === 'delete' && <RemoveOperator operator={action.to} onClose={() => setAction(null)} />}
    </Panel>
  )
}

function AddOperator({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const showDialog = useShowDialog()
  const add = useMutation({
    // The password is passed to the dialog, because mutations are cached.
    mutationFn: async () => {
      const { name: created, password = '' } = await api.post<Operator>('/operators', { body: { name } })
      showDialog((close) => (
        <NewPasswordDialog title="The new operator" name={created} password={password} onClose={close} />
      ))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: OPERATORS }),
  })
  return (
    <Dialog
      open
      sticky={add.isPending}
      onClose={onClose}
      size="s"
      title="New operator"
      lead="The password is generated and shown once."
      onSubmit={() => name && !add.isPending && add.mutate(undefined, { onSuccess: onClose })}
      footer={
        <>
          <Button onClick={onClose} disabled={add.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={add.isPending} disabled={!name}>
            Create operator
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
  return (
    <ConfirmRemoval
      open
      onClose={onClose}
      title="Delete this operator?"
      action="Delete"
      path={`/operators/${operator.id}`}
      lists={OPERATORS}
      successTitle="Operator deleted"
      onDone={onClose}
    >
      <p>
        <Name text={operator.name} strong /> is logged out everywhere at once and cannot log in again. The
        operator's actions stay in the audit log.
      </p>
    </ConfirmRemoval>
  )
}
