import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { KeyRound, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { api, type Operator } from '@/api'
import { ConfirmRemoval } from '@/app/ConfirmRemoval'
import { useShowOnce } from '@/app/once'
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
import { PasswordShown } from './PasswordShown'
import { ResetPassword } from './Reset'

/** Everybody who may log in. Each may do everything. */
export function Operators() {
  const { data: session } = useSession()
  const [adding, setAdding] = useState(false)
  const [doing, setDoing] = useState<{ what: 'reset' | 'delete'; to: Operator } | null>(null)
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
              onClick={() => setDoing({ what: 'reset', to: o })}
            >
              <KeyRound size={14} />
            </IconButton>
            <IconButton
              label={`Delete ${o.name}`}
              size="s"
              onClick={() => setDoing({ what: 'delete', to: o })}
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
      {doing?.what === 'reset' && <ResetPassword operator={doing.to} onClose={() => setDoing(null)} />}
      {doing?.what === 'delete' && <RemoveOperator operator={doing.to} onClose={() => setDoing(null)} />}
    </Panel>
  )
}

function AddOperator({ onClose }: { onClose: () => void }) {
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const showOnce = useShowOnce()
  const add = useMutation({
    // The password goes past the cache of mutations.
    mutationFn: async () => {
      const { name: made, password = '' } = await api.post<Operator>('/operators', { body: { name } })
      showOnce((close) => (
        <PasswordShown title="The new operator" name={made} password={password} onClose={close} />
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
      said="Operator deleted"
      onDone={onClose}
    >
      <p>
        <Name text={operator.name} strong /> is logged out everywhere at once and cannot log in again. The
        operator's actions stay in the audit log.
      </p>
    </ConfirmRemoval>
  )
}
