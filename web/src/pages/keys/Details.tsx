import { useMutation, useQueryClient } from '@tanstack/react-query'
import { FileClock, RefreshCw, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { api, type Key, type NewKey } from '@/api'
import { ConfirmRemoval } from '@/app/ConfirmRemoval'
import { useShowDialog } from '@/app/dialogs'
import {
  Badge,
  Button,
  ButtonLink,
  Copyable,
  Dialog,
  ErrorNotice,
  Facts,
  Field,
  Name,
  Notice,
  Select,
  Time,
} from '@/ui'

import { KEYS, StateBadge } from './parts'
import { KeySecretDialog } from './KeySecretDialog'

/** The details of a key, beside the list. */
export function KeyDetails({ k, onClose }: { k: Key; onClose: () => void }) {
  const [dialog, setDialog] = useState<'nothing' | 'roll' | 'revoke'>('nothing')
  const active = k.state === 'active'
  return (
    <Dialog
      open
      side
      onClose={onClose}
      title={<Name text={k.name} max={200} />}
      footer={
        <>
          {active && (
            <Button icon={<Trash2 size={14} />} onClick={() => setDialog('revoke')}>
              Revoke
            </Button>
          )}
          <ButtonLink to={`/audit?keyId=${k.id}`} icon={<FileClock size={14} />}>
            Uses
          </ButtonLink>
          {active && (
            <Button variant="primary" icon={<RefreshCw size={14} />} onClick={() => setDialog('roll')}>
              Roll
            </Button>
          )}
        </>
      }
    >
      <div className="stack">
        {k.rollDue && (
          <Notice tone="warn" title="Older than 90 days">
            <p>
              Rolling creates a successor with the same scopes and undo stack. This key keeps working for a
              while.
            </p>
          </Notice>
        )}
        <Facts
          items={[
            ['State', <StateBadge key="s" k={k} />],
            ['Key', <code key="d">{k.display}…</code>],
            [
              'Scopes',
              <span key="scopes" className="row">
                {k.scopes.length === 0
                  ? 'none: it can only read its own details'
                  : k.scopes.map((scope) => <Badge key={scope}>{scope}</Badge>)}
              </span>,
            ],
            [
              'Workspaces',
              <ul key="opens" className="keys-list">
                {k.workspaces.map((w) => (
                  <li key={w.id}>
                    {w.name === null ? (
                      <span className="muted">a deleted workspace</span>
                    ) : (
                      <Name text={w.name} max={120} />
                    )}
                  </li>
                ))}
              </ul>,
            ],
            ['Last used', <Time key="used" at={k.lastUsedAt} none="never" />],
            k.lastUsedFrom ? ['From', <code key="ip">{k.lastUsedFrom}</code>] : null,
            ['Expires', <Time key="expires" at={k.expiresAt} absolute none="never" />],
            k.revokedAt ? ['Revoked', <Time key="revoked" at={k.revokedAt} absolute />] : null,
            ['Created', <Time key="made" at={k.createdAt} absolute />],
            ['Created by', <Name key="by" text={k.createdBy} />],
            ['Id', <Copyable key="id" text={k.id} label="Copy the id" />],
            ['Actor', <Copyable key="actor" text={k.actorId} label="Copy the actor's id" />],
            k.rolledFrom ? ['Predecessor', <code key="from">{k.rolledFrom}</code>] : null,
          ]}
        />
      </div>
      {dialog === 'roll' && <RollKey k={k} onClose={() => setDialog('nothing')} />}
      <RevokeKey k={k} open={dialog === 'revoke'} onClose={() => setDialog('nothing')} onRevoked={onClose} />
    </Dialog>
  )
}

const GRACE_PERIODS = [
  { value: '0', label: 'No grace period' },
  { value: '3600', label: 'An hour' },
  { value: '86400', label: 'A day' },
  { value: '604800', label: 'A week' },
]

function RollKey({ k, onClose }: { k: Key; onClose: () => void }) {
  const queries = useQueryClient()
  const [grace, setGrace] = useState('86400')
  const showDialog = useShowDialog()
  const roll = useMutation({
    // The text of the key is passed to the dialog, because mutations are cached.
    mutationFn: async () => {
      const created = await api.post<NewKey>(`/keys/${k.id}/roll`, { body: { graceSeconds: Number(grace) } })
      showDialog((close) => (
        <KeySecretDialog
          title="The successor"
          text={created.key}
          workspaceId={k.workspaces[0]?.id}
          onClose={close}
        />
      ))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: KEYS }),
  })
  return (
    <Dialog
      open
      sticky={roll.isPending}
      onClose={onClose}
      size="s"
      title="Roll this key?"
      lead="Creates a successor with the same scopes, workspaces and undo stack."
      onSubmit={() => !roll.isPending && roll.mutate(undefined, { onSuccess: onClose })}
      footer={
        <>
          <Button onClick={onClose} disabled={roll.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={roll.isPending}>
            Roll key
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field label="The old key works for another">
          <Select value={grace} onChange={(e) => setGrace(e.target.value)} options={GRACE_PERIODS} />
        </Field>
        {roll.error && <ErrorNotice error={roll.error} compact />}
      </div>
    </Dialog>
  )
}

function RevokeKey({
  k,
  open,
  onClose,
  onRevoked,
}: {
  k: Key
  open: boolean
  onClose: () => void
  onRevoked: () => void
}) {
  return (
    <ConfirmRemoval
      open={open}
      onClose={onClose}
      title="Revoke this key?"
      action="Revoke key"
      path={`/keys/${k.id}`}
      lists={KEYS}
      successTitle="Key revoked"
      successText="It stops working within a second."
      onDone={onRevoked}
    >
      <p>
        All requests with{' '}
        <b>
          <Name text={k.name} max={80} />
        </b>{' '}
        (<code>{k.display}…</code>) get 401 within a second, and open streams end.
      </p>
      <p>
        {k.lastUsedAt ? (
          <>
            It was last used <Time at={k.lastUsedAt} />.
          </>
        ) : (
          'It was never used.'
        )}{' '}
        A revoked key cannot be restored.
      </p>
    </ConfirmRemoval>
  )
}
