import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { api, SCOPES, type NewKey, type Scope } from '@/api'
import { useShowOnce } from '@/app/once'
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
  PausedSearch,
  Segmented,
  Select,
} from '@/ui'

import { KEYS } from './parts'
import { KeyShown } from './Shown'

const MEANS: Record<Scope, string> = {
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

const LIVES = [
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
  const [own, setOwn] = useState(false)
  const [days, setDays] = useState('90')
  const [tried, setTried] = useState(false)
  const showOnce = useShowOnce()
  const make = useMutation({
    // The cache of mutations keeps results, so the text of the key bypasses it.
    mutationFn: async () => {
      const expiresAt = days ? new Date(Date.now() + Number(days) * 86_400_000).toISOString() : null
      const made = await api.post<NewKey>('/keys', { body: { name, workspaces: opens, scopes, expiresAt } })
      showOnce((close) => (
        <KeyShown title="The new key" text={made.key} workspaceId={opens[0]} onClose={close} />
      ))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: KEYS }),
  })

  const nameError = tried && name.trim() === '' ? 'Enter a name' : fieldError(make.error, 'name')
  const opensError = tried && opens.length === 0 ? 'Select at least one' : undefined
  const preset = own ? 'own' : (PRESETS.find((p) => same(p.scopes, scopes))?.value ?? 'own')
  const submit = () => {
    setTried(true)
    if (name.trim() !== '' && opens.length > 0 && !make.isPending)
      make.mutate(undefined, { onSuccess: onClose })
  }
  return (
    <Dialog
      open
      sticky={make.isPending}
      onClose={onClose}
      title="New key"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose} disabled={make.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" busy={make.isPending}>
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
              setOwn(value === 'own')
              if (value !== 'own') setScopes(PRESETS.find((p) => p.value === value)?.scopes ?? [])
            }}
            options={PRESETS}
          />
          <div className="keys-scopes">
            {SCOPES.map((scope) => (
              <Checkbox
                key={scope}
                label={<code>{scope}</code>}
                hint={MEANS[scope]}
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
          error={fieldError(make.error, 'expiresAt')}
        >
          <Select value={days} onChange={(e) => setDays(e.target.value)} options={LIVES} />
        </Field>
        {make.error && !fieldError(make.error, 'name', 'expiresAt') && (
          <ErrorNotice error={make.error} compact />
        )}
      </div>
    </Dialog>
  )
}

/** Which workspaces the key opens: of one mode. */
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
  // What is chosen stays in sight, if it is none of the first or was found by another text.
  const further = chosen.flatMap((id) => (choices.some((w) => w.id === id) ? [] : (known.get(id) ?? [])))
  const shown = [...further, ...choices]
  const mode = known.get(chosen[0] ?? '')?.mode
  return (
    <Group label="Workspaces" error={error}>
      {total > 6 && <PausedSearch label="Find a workspace" value={text} onChange={setText} />}
      {/* It may be longer than its box, so the keyboard has to reach it: by its checkboxes. */}
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
