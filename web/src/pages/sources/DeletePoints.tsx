import { useState } from 'react'

import { Button, Dialog, ErrorNotice, Field, fieldError, Input, Notice, useToast, visible } from '@/ui'

import { useSourceWrites } from './data'
import type { Source } from './shapes'
import { browserZone, instantOf } from './zones'

/** Deletes points of a source: of one metric or all, in a range of time or of all time. */
export function DeletePoints({ source, onClose }: { source: Source; onClose: () => void }) {
  const [metric, setMetric] = useState('')
  const [from, setFrom] = useState('')
  const [to, setTo] = useState('')
  const [tried, setTried] = useState(false)
  const { removePoints } = useSourceWrites()
  const toast = useToast()
  const zone = browserZone()
  const times = { from: from ? instantOf(from, zone) : undefined, to: to ? instantOf(to, zone) : undefined }
  const backwards = times.from !== undefined && times.to !== undefined && times.from >= times.to
  const iso = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString())
  const submit = () => {
    setTried(true)
    if (backwards || removePoints.isPending) return
    removePoints.mutate(
      { sourceId: source.id, metric, from: iso(times.from), to: iso(times.to) },
      {
        onSuccess: () => {
          toast.ok('Points deleted', 'Queries and charts show it in a moment.')
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
          <Button type="submit" variant="danger" busy={removePoints.isPending}>
            {metric || from || to ? 'Delete these points' : 'Delete all its points'}
          </Button>
        </>
      }
    >
      <div className="stack">
        {removePoints.isError && <ErrorNotice error={removePoints.error} compact />}
        <Field
          label="Metric"
          optional
          hint="Its exact name. Empty: all metrics."
          error={fieldError(removePoints.error, 'metric')}
        >
          <Input
            value={metric}
            onChange={(e) => setMetric(e.target.value)}
            list="sources-metrics"
            spellCheck={false}
          />
        </Field>
        <datalist id="sources-metrics">
          {source.metrics.map((one) => (
            <option key={one.name} value={one.name} />
          ))}
        </datalist>
        <div className="field-row">
          <Field
            label="From"
            optional
            hint={`Time of ${zone}. Empty: from the first on.`}
            error={fieldError(removePoints.error, 'from')}
          >
            <Input type="datetime-local" step={1} value={from} onChange={(e) => setFrom(e.target.value)} />
          </Field>
          <Field
            label="To"
            optional
            hint="Not included. Empty: up to the last."
            error={
              (tried && backwards && 'The end must be after the beginning.') ||
              fieldError(removePoints.error, 'to')
            }
          >
            <Input type="datetime-local" step={1} value={to} onChange={(e) => setTo(e.target.value)} />
          </Field>
        </div>
        <Notice tone="warn" title="This cannot be taken back">
          <p>
            What was accepted before now goes, and no replay brings it back. What comes later stays, whatever
            its time.
          </p>
        </Notice>
      </div>
    </Dialog>
  )
}
