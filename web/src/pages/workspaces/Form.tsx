import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { api, type Workspace } from '@/api'
import { WORKSPACES } from '@/app/workspace'
import { Button, Dialog, ErrorNotice, Field, fieldError, Input, num, Segmented, useToast } from '@/ui'

import { bodyOfChange, bodyOfNew, draftOf, NEW, PLANS, problemsOf, type Draft, type Problems } from './limits'

/** The form fields. `isNew` adds the mode, which cannot be changed later. */
function Fields({
  draft,
  set,
  problems,
  error,
  isNew,
}: {
  draft: Draft
  set: (change: Partial<Draft>) => void
  problems: Problems
  error: unknown
  isNew: boolean
}) {
  const plan = PLANS.find((p) => p.value === draft.plan)
  const of = (field: keyof Draft) => problems[field] ?? fieldError(error, field)
  const input = (field: keyof Draft, placeholder: string) => (
    <Input
      inputMode="numeric"
      placeholder={placeholder}
      value={draft[field]}
      onChange={(e) => set({ [field]: e.target.value })}
    />
  )
  return (
    <div className="stack">
      <Field label="Name" error={of('name')}>
        <Input
          value={draft.name}
          maxLength={256}
          spellCheck={false}
          onChange={(e) => set({ name: e.target.value })}
        />
      </Field>
      {isNew && (
        <div className="field">
          <span className="field-label">Mode</span>
          <Segmented
            label="Mode"
            value={draft.mode}
            onChange={(mode) => set({ mode })}
            options={[
              { value: 'live', label: 'Live' },
              { value: 'test', label: 'Test' },
            ]}
          />
          <span className="field-hint">
            Its keys begin with lg_{draft.mode}_. It cannot be changed later.
          </span>
        </div>
      )}
      <div className="field">
        <span className="field-label">Plan</span>
        <Segmented
          label="Plan"
          value={draft.plan}
          onChange={(value) => set({ plan: value })}
          options={PLANS}
        />
        <span className="field-hint">
          {plan?.perMinute == null || plan.perDay === null
            ? 'Custom limits, or none.'
            : `${num(plan.perMinute)} requests a minute, ${num(plan.perDay)} a day.`}
        </span>
      </div>
      {draft.plan === 'enterprise' && (
        <div className="field-row">
          <Field label="Requests a minute" error={of('perMinute')}>
            {input('perMinute', 'unlimited')}
          </Field>
          <Field label="Requests a day" error={of('perDay')}>
            {input('perDay', 'unlimited')}
          </Field>
        </div>
      )}
      <div className="field-row">
        <Field label="Maximum sources" error={of('maxSources')}>
          {input('maxSources', '10,000')}
        </Field>
        <Field label="Maximum series" error={of('maxSeries')}>
          {input('maxSeries', '1,000,000')}
        </Field>
      </div>
      <Field
        label="Retention in days"
        hint="Older points are removed permanently. Empty: no retention."
        error={of('retentionDays')}
      >
        {input('retentionDays', 'permanent')}
      </Field>
    </div>
  )
}

const knownFields = ['name', 'perMinute', 'perDay', 'maxSources', 'maxSeries', 'retentionDays']

function useDraft(start: Draft) {
  const [draft, setDraft] = useState(start)
  const [submitted, setSubmitted] = useState(false)
  const problems = problemsOf(draft)
  return {
    draft,
    set: (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change })),
    problems: submitted ? problems : {},
    /** Validates the form. Errors are shown from then on. */
    check: () => {
      setSubmitted(true)
      return Object.keys(problems).length === 0
    },
  }
}

export function NewWorkspace({
  open,
  onClose,
  onCreated,
}: {
  open: boolean
  onClose: () => void
  onCreated: (id: string) => void
}) {
  return open ? <NewForm onClose={onClose} onCreated={onCreated} /> : null
}

function NewForm({ onClose, onCreated }: { onClose: () => void; onCreated: (id: string) => void }) {
  const queries = useQueryClient()
  const toast = useToast()
  const form = useDraft(NEW)
  const create = useMutation({
    mutationFn: (draft: Draft) => api.post<Workspace>('/workspaces', { body: bodyOfNew(draft) }),
    onSuccess: async (created) => {
      await queries.invalidateQueries({ queryKey: WORKSPACES })
      toast.ok('Workspace created', 'Create a key to send data to it.')
      onCreated(created.id)
    },
  })
  return (
    <Dialog
      open
      onClose={onClose}
      title="New workspace"
      onSubmit={() => form.check() && !create.isPending && create.mutate(form.draft)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={create.isPending}>
            Create workspace
          </Button>
        </>
      }
    >
      <div className="stack">
        <Fields {...form} error={create.error} isNew />
        {create.error && !fieldError(create.error, ...knownFields) && (
          <ErrorNotice error={create.error} compact />
        )}
      </div>
    </Dialog>
  )
}

export function EditWorkspace({ workspace, onClose }: { workspace: Workspace; onClose: () => void }) {
  const queries = useQueryClient()
  const toast = useToast()
  const form = useDraft(draftOf(workspace))
  const change = useMutation({
    mutationFn: (body: Record<string, unknown>) =>
      api.patch<Workspace>(`/workspaces/${workspace.id}`, { body }),
    onSuccess: async () => {
      await queries.invalidateQueries({ queryKey: WORKSPACES })
      toast.ok('Workspace saved', 'New limits apply within a second.')
      onClose()
    },
  })
  const body = bodyOfChange(workspace, form.draft)
  const submit = () => {
    if (!form.check() || change.isPending) return
    if (Object.keys(body).length === 0) onClose()
    else change.mutate(body)
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Change workspace"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={change.isPending}>
            Save
          </Button>
        </>
      }
    >
      <div className="stack">
        <Fields {...form} error={change.error} isNew={false} />
        {change.error && !fieldError(change.error, ...knownFields) && (
          <ErrorNotice error={change.error} compact />
        )}
      </div>
    </Dialog>
  )
}
