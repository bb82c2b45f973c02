import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { api, SCOPES, type NewKey, type Scope } from '@/api'
import { useShowDialog } from '@/app/dialogs'
import { useWorkspaceChoices, useWorkspaces, useWorkspacesById } from '@/app/workspace'
import {
  Badge,
  Button,
  Checkbox,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  Group,
  Input,
  Name,
  DebouncedSearch,
  Segmented,
  Select,
} from '@/ui'

import { KEYS } from './parts'
import { KeySecretDialog } from './KeySecretDialog'

const SCOPE_DESCRIPTIONS: Record<Scope, string> = {
  'read:nodes': 'read and search nodes',
  'write:nodes': 'create, update and delete nodes',
  'read:edges': 'read edges',
  'write:edges': 'create and delete edges',
  'read:livedata': 'query and stream points',
  'write:livedata': 'send points, create sources',
  admin: 'full access to its workspaces, including deletions',
}

const PRESETS: readonly { value: string; label: string; scopes: readonly Scope[] }[] = [
  { value: 'send', label: 'Send points', scopes: ['write:livedata'] },
  { value: 'read', label: 'Read all', scopes: ['read:nodes', 'read:edges', 'read:livedata'] },
  { value: 'write', label: 'Read and write', scopes: SCOPES.filter((s) => s !== 'admin') },
  { value: 'admin', label: 'Admin', scopes: ['admin'] },
  { value: 'own', label: 'Other', scopes: [] },
]

const same = (a: readonly Scope[], b: readonly Scope[]) =>
  a.length === b.length && a.every((s) => b.includes(s))

const LIFETIMES = [
  { value: '', label: 'Never' },
  { value: '1', label: 'In a day' },
  { value: '30', label: 'In 30 days' },
  { value: '90', label: 'In 90 days' },
  { value: '365', label: 'In a year' },
]

export function NewKeyDialog({ workspaceId, onClose }: { workspaceId: string; onClose: () => void }) {
  const { workspace } = useWorkspaces()
  const queries = useQueryClient()
  const [name, setName] = useState('')
  const [opens, setOpens] = useState<readonly string[]>(
    workspaceId ? [workspaceId] : workspace ? [workspace.id] : [],
  )
  const [scopes, setScopes] = useState<readonly Scope[]>(['write:livedata'])
  const [customScopes, setCustomScopes] = useState(false)
  const [days, setDays] = useState('90')
  const [submitted, setSubmitted] = useState(false)
  const showDialog = useShowDialog()
  const create = useMutation({
    // The text of the key is passed to the dialog, because mutations are cached.
    mutationFn: async () => {
      const expiresAt = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null
      const created = await api.post<NewKey>('/keys', {
        body: { name, workspaces: opens, scopes, expiresAt },
      })
      showDialog((close) => (
        <KeySecretDialog title="The new key" text={created.key} workspaceId={opens[0]} onClose={close} />
      ))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: KEYS }),
  })

  const nameError = submitted && name.trim() === '' ? 'Enter a name' : fieldError(create.error, 'name')
  const opensError = submitted && opens.length === 0 ? 'Select at least one' : undefined
  const preset = customScopes ? 'own' : (PRESETS.find((p) => same(p.scopes, scopes))?.value ?? 'own')
  const submit = () => {
    setSubmitted(true)
    if (name.trim() !== '' && opens.length > 0 && !create.isPending)
      create.mutate(undefined, { onSuccess: onClose })
  }
  return (
    <Dialog
      open
      sticky={create.isPending}
      onClose={onClose}
      title="New key"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose} disabled={create.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={create.isPending}>
            Create key
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field label="Name" hint="Where the key is used, such as gateway-hall-3" error={nameError}>
          <Input value={name} maxLength={256} spellCheck={false} onChange={(e) => setName(e.target.value)} />
        </Field>
        <WorkspaceChoice chosen={opens} onChange={setOpens} error={opensError} />
        <Group label="Scopes" tight>
          <Segmented
            label="Scopes"
            value={preset}
            onChange={(value) => {
              setCustomScopes(value === 'own')
              if (value !== 'own') setScopes(PRESETS.find((p) => p.value === value)?.scopes ?? [])
            }}
            options={PRESETS}
          />
          <div className="keys-scopes">
            {SCOPES.map((scope) => (
              <Checkbox
                key={scope}
                label={<code>{scope}</code>}
                hint={SCOPE_DESCRIPTIONS[scope]}
                checked={scopes.includes(scope)}
                onChange={(e) =>
                  setScopes(SCOPES.filter((s) => (s === scope ? e.target.checked : scopes.includes(s))))
                }
              />
            ))}
          </div>
          {scopes.length === 0 && (
            <span className="field-hint">
              Without a scope it can only read its own details (GET /api/me).
            </span>
          )}
        </Group>
        <Field
          label="Expires"
          hint={days ? undefined : 'The UI reminds you to roll it after 90 days.'}
          error={fieldError(create.error, 'expiresAt')}
        >
          <Select value={days} onChange={(e) => setDays(e.target.value)} options={LIFETIMES} />
        </Field>
        {create.error && !fieldError(create.error, 'name', 'expiresAt') && (
          <ErrorNotice error={create.error} compact />
        )}
      </div>
    </Dialog>
  )
}

/** Selects the workspaces of a key. They must have the same mode. */
function WorkspaceChoice({
  chosen,
  onChange,
  error,
}: {
  chosen: readonly string[]
  onChange: (ids: readonly string[]) => void
  error: string | undefined
}) {
  const [text, setText] = useState('')
  const { total } = useWorkspaces()
  const { choices } = useWorkspaceChoices(text)
  const known = useWorkspacesById(chosen)
  // Selected workspaces stay visible even if they are not among the first ones or were found by another text.
  const unlisted = chosen.flatMap((id) => (choices.some((w) => w.id === id) ? [] : (known.get(id) ?? [])))
  const shown = [...unlisted, ...choices]
  const mode = known.get(chosen[0] ?? '')?.mode
  return (
    <Group label="Workspaces" error={error}>
      {total > 6 && <DebouncedSearch label="Find a workspace" value={text} onChange={setText} />}
      {/* The list may be longer than its box. The keyboard reaches it by its checkboxes. */}
      <div className="keys-workspaces">
        {shown.map((w) => (
          <Checkbox
            key={w.id}
            label={
              <span className="row">
                <Name text={w.name} max={80} />
                {w.mode === 'test' && <Badge tone="warn">test</Badge>}
              </span>
            }
            checked={chosen.includes(w.id)}
            disabled={mode !== undefined && w.mode !== mode}
            onChange={(e) =>
              onChange(e.target.checked ? [...chosen, w.id] : chosen.filter((id) => id !== w.id))
            }
          />
        ))}
        {shown.length === 0 && (
          <span className="muted">
            {total === 0 ? 'There is no workspace yet: create one first.' : 'No matches.'}
          </span>
        )}
      </div>
      {mode && shown.some((w) => w.mode !== mode) && (
        <span className="field-hint">A key is valid for workspaces of one mode: {mode}.</span>
      )}
    </Group>
  )
}
