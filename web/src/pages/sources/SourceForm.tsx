import { Plus, X } from 'lucide-react'
import { useState } from 'react'

import { ApiError } from '@/api'
import {
  Button,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
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
  /** The one that is changed; null: a new one. */
  source: Source | null
  onClose: () => void
  onDone?: (source: Source) => void
}

/** Makes a source, or changes one. */
export function SourceForm({ source, onClose, onDone }: SourceFormProps) {
  const [draft, setDraft] = useState(() => (source ? draftOf(source) : emptyDraft()))
  const [tried, setTried] = useState(false)
  const { create, change } = useSourceWrites()
  const toast = useToast()
  const write = source ? change : create
  const problems = tried ? problemsOf(draft) : {}
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
    setTried(true)
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
      lead={source ? undefined : 'A source is where points come from: a device, a process, a service.'}
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
        <div className="sources-form-row">
          <Field label="Name" error={errorOf('name')} hint="Unique in the workspace.">
            <Input value={draft.name} onChange={(e) => set({ name: e.target.value })} spellCheck={false} />
          </Field>
          <Field label="Unit" optional error={errorOf('unit')} hint="Of metrics that have none of their own.">
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
        <div className="sources-form-row">
          <Field
            label="Interval in seconds"
            optional
            error={errorOf('intervalSeconds')}
            hint="How often points are expected; stale after three of them."
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
            hint="Older points are removed. Empty: as the workspace says."
          >
            <Input
              inputMode="numeric"
              value={draft.retentionDays}
              onChange={(e) => set({ retentionDays: e.target.value })}
              placeholder="as the workspace"
            />
          </Field>
          <Field
            label="Node"
            optional
            error={errorOf('nodeId')}
            hint="The id of the node in the graph that it belongs to."
          >
            <Input
              value={draft.nodeId}
              onChange={(e) => set({ nodeId: e.target.value })}
              spellCheck={false}
            />
          </Field>
        </div>
        {shorter && (
          <Notice tone="warn" title="Points older than that are gone once it is saved">
            <p>A longer retention later does not bring them back.</p>
          </Notice>
        )}
        <TagFields draft={draft} set={set} error={errorOf('tags')} />
        <MetricFields draft={draft} set={set} error={errorOf('metrics')} />
      </div>
    </Dialog>
  )
}

interface RowsProps {
  draft: Draft
  set: (next: Partial<Draft>) => void
  error: string | undefined
}

function TagFields({ draft, set, error }: RowsProps) {
  const { tags } = draft
  const change = (i: number, next: Partial<Draft['tags'][number]>) =>
    set({ tags: tags.map((tag, at) => (at === i ? { ...tag, ...next } : tag)) })
  return (
    <fieldset className="sources-rows">
      <legend>Tags</legend>
      {tags.map((tag, i) => (
        <div className="sources-rows-line" key={i}>
          <Input
            aria-label={`Key of tag ${i + 1}`}
            placeholder="room"
            value={tag.key}
            onChange={(e) => change(i, { key: e.target.value })}
          />
          <Input
            aria-label={`Value of tag ${i + 1}`}
            placeholder="cellar"
            value={tag.value}
            onChange={(e) => change(i, { value: e.target.value })}
          />
          <IconButton
            label={`Remove tag ${i + 1}`}
            onClick={() => set({ tags: tags.filter((_, at) => at !== i) })}
          >
            <X size={14} />
          </IconButton>
        </div>
      ))}
      <RowsFoot
        error={error}
        what="tag"
        full={tags.length >= 64}
        onAdd={() => set({ tags: [...tags, { key: '', value: '' }] })}
      />
    </fieldset>
  )
}

function MetricFields({ draft, set, error }: RowsProps) {
  const { metrics } = draft
  const change = (i: number, next: Partial<Draft['metrics'][number]>) =>
    set({ metrics: metrics.map((one, at) => (at === i ? { ...one, ...next } : one)) })
  return (
    <fieldset className="sources-rows">
      <legend>Metrics</legend>
      <p className="field-hint">
        For readers: units and descriptions. Any metric can be sent, whether it is listed or not.
      </p>
      {metrics.map((metric, i) => (
        <div className="sources-rows-line" key={i}>
          <Input
            aria-label={`Name of metric ${i + 1}`}
            placeholder="temperature"
            value={metric.name}
            onChange={(e) => change(i, { name: e.target.value })}
          />
          <Input
            aria-label={`Unit of metric ${i + 1}`}
            placeholder="°C"
            className="sources-rows-short"
            value={metric.unit}
            onChange={(e) => change(i, { unit: e.target.value })}
          />
          <Input
            aria-label={`Description of metric ${i + 1}`}
            placeholder="what it means"
            value={metric.description}
            onChange={(e) => change(i, { description: e.target.value })}
          />
          <IconButton
            label={`Remove metric ${i + 1}`}
            onClick={() => set({ metrics: metrics.filter((_, at) => at !== i) })}
          >
            <X size={14} />
          </IconButton>
        </div>
      ))}
      <RowsFoot
        error={error}
        what="metric"
        full={metrics.length >= 1000}
        onAdd={() => set({ metrics: [...metrics, { name: '', unit: '', description: '' }] })}
      />
    </fieldset>
  )
}

function RowsFoot({
  error,
  what,
  full,
  onAdd,
}: {
  error: string | undefined
  what: string
  full: boolean
  onAdd: () => void
}) {
  return (
    <div className="row">
      <Button size="s" icon={<Plus size={14} />} disabled={full} onClick={onAdd}>
        Add a {what}
      </Button>
      {error && (
        <span className="field-error" role="alert">
          {error}
        </span>
      )}
    </div>
  )
}
