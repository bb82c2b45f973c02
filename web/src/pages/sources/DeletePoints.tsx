import { useState } from 'react'

import {
  Button,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  Group,
  Input,
  Notice,
  PhraseField,
  Segmented,
  useToast,
  visible,
} from '@/ui'

import { useSourceWrites } from './data'
import { type Erasure, erasureText, hasFrom, hasTo, NOTHING, readErasure } from './erasure'
import { phraseOf } from './phrase'
import type { Source } from './shapes'
import { browserZone } from './zones'

const METRICS = [
  { value: 'one', label: 'One metric' },
  { value: 'all', label: 'All metrics' },
] as const

const TIMES = [
  { value: 'between', label: 'Between two times' },
  { value: 'before', label: 'Before a time' },
  { value: 'since', label: 'After a time' },
  { value: 'all', label: 'All time' },
] as const

/** Deletes selected points of a source after its name was typed. */
export function DeletePoints({ source, onClose }: { source: Source; onClose: () => void }) {
  const [erasure, setErasure] = useState(NOTHING)
  const [typed, setTyped] = useState('')
  const { removePoints } = useSourceWrites()
  const toast = useToast()
  const zone = browserZone()
  const phrase = phraseOf(source)
  const { query } = readErasure(erasure, zone)
  const ready = query !== null && typed === phrase
  const submit = () => {
    if (!ready || removePoints.isPending) return
    removePoints.mutate(
      { sourceId: source.id, ...query },
      {
        onSuccess: () => {
          toast.ok('Points deleted', 'Queries and charts reflect it in a moment.')
          onClose()
        },
      },
    )
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title="Delete points"
      lead={visible(source.name, 120)}
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="danger" busy={removePoints.isPending} disabled={!ready}>
            Delete these points
          </Button>
        </>
      }
    >
      <div className="stack">
        <PointSelection
          source={source}
          erasure={erasure}
          zone={zone}
          error={removePoints.error}
          onChange={(change) => {
            setErasure({ ...erasure, ...change })
            removePoints.reset()
          }}
        />
        <Notice tone="warn" title="This cannot be undone">
          {query && (
            <p>
              Deletes: <b>{erasureText(query, zone)}</b>.
            </p>
          )}
          <p>
            Deletes points that were accepted before now; no replay restores them. Points that arrive later
            remain, regardless of their timestamp.
          </p>
        </Notice>
        <PhraseField phrase={phrase} typed={typed} onType={setTyped} />
        {removePoints.isError && <ErrorNotice error={removePoints.error} compact />}
      </div>
    </Dialog>
  )
}

/** Selects the points. Nothing is selected by default. */
function PointSelection({
  source,
  erasure,
  zone,
  error,
  onChange,
}: {
  source: Source
  erasure: Erasure
  zone: string
  error: unknown
  onChange: (change: Partial<Erasure>) => void
}) {
  // Fields that lost the focus or in which Enter was pressed. Their errors are shown.
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  const markTouched = (field: string) => setTouched(new Set([...touched, field]))
  const { problems } = readErasure(erasure, zone)
  const errorOf = (field: 'metric' | 'from' | 'to') =>
    (touched.has(field) || (field === 'to' && erasure.to !== '') ? problems[field] : undefined) ??
    fieldError(error, field)
  const controls = (field: 'metric' | 'from' | 'to') => ({
    value: erasure[field],
    onChange: (e: { target: { value: string } }) => onChange({ [field]: e.target.value }),
    onBlur: () => markTouched(field),
    onKeyDown: (e: { key: string }) => e.key === 'Enter' && markTouched(field),
  })
  return (
    <>
      <Group label="Which metrics">
        <Segmented
          label="Which metrics"
          value={erasure.metrics}
          onChange={(metrics) => onChange({ metrics })}
          options={METRICS}
        />
        {erasure.metrics === 'one' && (
          <>
            <Field label="Metric" hint="The exact name." error={errorOf('metric')}>
              <Input {...controls('metric')} list="sources-metrics" spellCheck={false} />
            </Field>
            <datalist id="sources-metrics">
              {source.metrics.map((item) => (
                <option key={item.name} value={item.name} />
              ))}
            </datalist>
          </>
        )}
      </Group>
      <Group label="Time range">
        <Segmented
          label="Time range"
          value={erasure.times}
          onChange={(times) => onChange({ times })}
          options={TIMES}
        />
        {(hasFrom(erasure) || hasTo(erasure)) && (
          <div className="field-row">
            {hasFrom(erasure) && (
              <Field label="From" hint={`Time of ${zone}.`} error={errorOf('from')}>
                <Input type="datetime-local" step={1} {...controls('from')} />
              </Field>
            )}
            {hasTo(erasure) && (
              <Field label="To" hint={`Time of ${zone}. Not included.`} error={errorOf('to')}>
                <Input type="datetime-local" step={1} {...controls('to')} />
              </Field>
            )}
          </div>
        )}
      </Group>
    </>
  )
}
