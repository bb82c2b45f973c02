import { Plus, X } from 'lucide-react'
import { useState } from 'react'

import { ApiError } from '@/api'
import {
  Button,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  Group,
  IconButton,
  Input,
  Notice,
  Textarea,
  useToast,
  visible,
} from '@/ui'

import { useSourceWrites } from './data'
import { type Draft, draftOf, emptyDraft, fieldOf, newSource, patchOf, problemsOf } from './draft'
import type { Source } from './shapes'

interface SourceFormProps {
  /** The source to edit; null to create one. */
  source: Source | null
  onClose: () => void
  onDone?: (source: Source) => void
}

/** The form to create or edit a source. */
export function SourceForm({ source, onClose, onDone }: SourceFormProps) {
  const [draft, setDraft] = useState(() => (source ? draftOf(source) : emptyDraft()))
  const [submitted, setSubmitted] = useState(false)
  const { create, change } = useSourceWrites()
  const toast = useToast()
  const write = source ? change : create
  const problems = submitted ? problemsOf(draft) : {}
  const refused = fieldOf(write.error instanceof ApiError ? write.error.details.field : undefined)
  const errorOf = (field: keyof Draft) =>
    problems[field] ??
    (refused === field && write.error instanceof ApiError
      ? fieldError(write.error, write.error.details.field ?? '')
      : undefined)
  const set = (next: Partial<Draft>) => setDraft((before) => ({ ...before, ...next }))

  const done = (saved: Source) => {
    toast.ok(source ? 'Source saved' : 'Source created', visible(saved.name, 80))
    onClose()
    onDone?.(saved)
  }
  const submit = () => {
    setSubmitted(true)
    if (Object.keys(problemsOf(draft)).length > 0 || write.isPending) return
    if (!source) {
      create.mutate(newSource(draft), { onSuccess: done })
      return
    }
    const patch = patchOf(source, draft)
    if (patch) change.mutate({ id: source.id, patch }, { onSuccess: done })
    else onClose()
  }
  const shorter =
    source && draft.retentionDays !== '' && Number(draft.retentionDays) < (source.retentionDays ?? Infinity)

  return (
    <Dialog
      open
      sticky
      size="l"
      onClose={onClose}
      title={source ? 'Edit source' : 'New source'}
      lead={source ? undefined : 'A source sends points: a device, a process, a service.'}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={write.isPending}>
            {source ? 'Save' : 'Create source'}
          </Button>
        </>
      }
    >
      <div className="stack">
        {write.isError && !refused && <ErrorNotice error={write.error} compact />}
        <div className="field-row">
          <Field label="Name" error={errorOf('name')} hint="Unique in the workspace.">
            <Input value={draft.name} onChange={(e) => set({ name: e.target.value })} spellCheck={false} />
          </Field>
          <Field label="Unit" optional error={errorOf('unit')} hint="Default for metrics without a unit.">
            <Input value={draft.unit} onChange={(e) => set({ unit: e.target.value })} placeholder="°C" />
          </Field>
        </div>
        <Field label="Description" optional error={errorOf('description')}>
          <Textarea
            rows={2}
            value={draft.description}
            onChange={(e) => set({ description: e.target.value })}
          />
        </Field>
        <div className="field-row">
          <Field
            label="Interval in seconds"
            optional
            error={errorOf('intervalSeconds')}
            hint="Expected time between points; stale after three intervals."
          >
            <Input
              inputMode="decimal"
              value={draft.intervalSeconds}
              onChange={(e) => set({ intervalSeconds: e.target.value })}
              placeholder="5 minutes until stale"
            />
          </Field>
          <Field
            label="Retention in days"
            optional
            error={errorOf('retentionDays')}
            hint="Older points are removed. Empty: retention of the workspace."
          >
            <Input
              inputMode="numeric"
              value={draft.retentionDays}
              onChange={(e) => set({ retentionDays: e.target.value })}
              placeholder="as the workspace"
            />
          </Field>
          <Field label="Node" optional error={errorOf('nodeId')} hint="Id of the linked node in the graph.">
            <Input
              value={draft.nodeId}
              onChange={(e) => set({ nodeId: e.target.value })}
              spellCheck={false}
            />
          </Field>
        </div>
        {shorter && (
          <Notice tone="warn" title="Saving deletes points older than that">
            <p>A longer retention does not restore them.</p>
          </Notice>
        )}
        <Rows
          label="Tags"
          what="tag"
          fields={TAG}
          maxRows={64}
          rows={draft.tags}
          onChange={(tags) => set({ tags })}
          error={errorOf('tags')}
        />
        <Rows
          label="Metrics"
          hint="Units and descriptions for readers. Metrics that are not listed can be sent too."
          what="metric"
          fields={METRIC}
          maxRows={1000}
          rows={draft.metrics}
          onChange={(metrics) => set({ metrics })}
          error={errorOf('metrics')}
        />
      </div>
    </Dialog>
  )
}

interface RowField<Name extends string> {
  name: Name
  /** As in "Key of tag 2". */
  label: string
  placeholder: string
  short?: boolean
}

const TAG: readonly RowField<keyof Draft['tags'][number]>[] = [
  { name: 'key', label: 'Key', placeholder: 'room' },
  { name: 'value', label: 'Value', placeholder: 'cellar' },
]

const METRIC: readonly RowField<keyof Draft['metrics'][number]>[] = [
  { name: 'name', label: 'Name', placeholder: 'temperature' },
  { name: 'unit', label: 'Unit', placeholder: '°C', short: true },
  { name: 'description', label: 'Description', placeholder: 'what it means' },
]

interface RowsProps<Name extends string> {
  label: string
  hint?: string
  /** The name of a row, in one word. */
  what: string
  fields: readonly RowField<Name>[]
  /** The maximum number of rows. */
  maxRows: number
  rows: readonly Record<Name, string>[]
  onChange: (rows: Record<Name, string>[]) => void
  error: string | undefined
}

/** A variable number of rows with the same text fields. */
function Rows<Name extends string>({
  label,
  hint,
  what,
  fields,
  maxRows,
  rows,
  onChange,
  error,
}: RowsProps<Name>) {
  const change = (i: number, name: Name, text: string) =>
    onChange(rows.map((row, at) => (at === i ? { ...row, [name]: text } : row)))
  const empty = () => Object.fromEntries(fields.map((field) => [field.name, ''])) as Record<Name, string>
  return (
    <Group label={label} hint={hint} error={error}>
      {rows.map((row, i) => (
        <div className="sources-rows-line" key={i}>
          {fields.map((field) => (
            <Input
              key={field.name}
              aria-label={`${field.label} of ${what} ${i + 1}`}
              placeholder={field.placeholder}
              className={field.short ? 'sources-rows-short' : undefined}
              value={row[field.name]}
              onChange={(e) => change(i, field.name, e.target.value)}
            />
          ))}
          <IconButton
            label={`Remove ${what} ${i + 1}`}
            onClick={() => onChange(rows.filter((_, at) => at !== i))}
          >
            <X size={14} />
          </IconButton>
        </div>
      ))}
      <div className="row">
        <Button
          size="s"
          icon={<Plus size={14} />}
          disabled={rows.length >= maxRows}
          onClick={() => onChange([...rows, empty()])}
        >
          Add a {what}
        </Button>
      </div>
    </Group>
  )
}
