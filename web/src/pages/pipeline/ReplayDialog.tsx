import { useState } from 'react'

import { WorkspaceSelect } from '@/app/WorkspaceSelect'
import {
  Button,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  Group,
  Input,
  Notice,
  num,
  plural,
  Segmented,
  Select,
  Table,
  Textarea,
  useNow,
  type Column,
} from '@/ui'

import { browserZone } from '../sources/zones'
import { useReplayWrites } from './data'
import { emptyReplay, REPLAYABLE, type ReplayDraft, replayRequest } from './replays'
import type { PlannedReplay, Replay, ReplayPartition } from './shapes'

/** Plans a replay and starts it after the plan was shown. */
export function ReplayDialog({
  onClose,
  onStarted,
}: {
  onClose: () => void
  onStarted: (replay: Replay) => void
}) {
  const [draft, setDraft] = useState(emptyReplay)
  const [submitted, setSubmitted] = useState(false)
  const { plan, start } = useReplayWrites()
  const zone = browserZone()
  // The plan belongs to the request at that time.
  const planned = plan.data
  const error = start.error ?? plan.error
  const set = (change: Partial<ReplayDraft>) => {
    setDraft({ ...draft, ...change })
    plan.reset()
    start.reset()
  }
  const submit = () => {
    setSubmitted(true)
    const { request, problems } = replayRequest(draft, zone, Date.now())
    if (Object.keys(problems).length > 0 || plan.isPending || start.isPending) return
    if (!planned) {
      plan.mutate(request)
      return
    }
    start.mutate(request, { onSuccess: onStarted })
  }
  return (
    <Dialog
      open
      size="l"
      onClose={onClose}
      title="Start a replay"
      lead="The first step shows a plan."
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={plan.isPending || start.isPending}>
            {planned ? `Replay ${plural(planned.records, 'record')}` : 'Show the plan'}
          </Button>
        </>
      }
    >
      <div className="stack">
        {Boolean(error) && <ErrorNotice error={error} compact />}
        <ReplayForm draft={draft} zone={zone} submitted={submitted} error={error} onChange={set} />
        {planned && <Plan plan={planned} />}
      </div>
    </Dialog>
  )
}

interface ReplayFormProps {
  draft: ReplayDraft
  zone: string
  submitted: boolean
  error: unknown
  onChange: (change: Partial<ReplayDraft>) => void
}

const FROM = [
  { value: 'start', label: 'The start of the log' },
  { value: 'time', label: 'A time' },
  { value: 'offsets', label: 'Offsets' },
] as const
const TO = [
  { value: 'end', label: 'The current end' },
  { value: 'time', label: 'A time' },
  { value: 'offsets', label: 'Offsets' },
] as const

function ReplayForm({ draft: d, zone, submitted, error, onChange }: ReplayFormProps) {
  const { problems } = replayRequest(d, zone, useNow())
  const errorOf = (field: keyof ReplayDraft, name: string = field) =>
    (submitted ? problems[field] : undefined) ?? fieldError(error, name)
  const times = `Time at which the records were written, in ${zone}.`
  return (
    <>
      <Field
        label="Topic"
        hint="Only points can be replayed. Commands are applied once."
        error={errorOf('topic')}
      >
        <Select
          value={d.topic}
          onChange={(e) => onChange({ topic: e.target.value as ReplayDraft['topic'] })}
          options={REPLAYABLE}
        />
      </Field>
      <Group label="From">
        <Segmented label="From" value={d.from} onChange={(from) => onChange({ from })} options={FROM} />
        {d.from === 'time' && (
          <Field label="Time" hint={times} error={errorOf('fromTime')}>
            <Input
              type="datetime-local"
              step={1}
              value={d.fromTime}
              onChange={(e) => onChange({ fromTime: e.target.value })}
            />
          </Field>
        )}
        {d.from === 'offsets' && (
          <OffsetField
            value={d.fromOffsets}
            error={errorOf('fromOffsets')}
            hint="Other partitions are not read."
            onChange={(fromOffsets) => onChange({ fromOffsets })}
          />
        )}
      </Group>
      <Group label="To">
        <Segmented label="To" value={d.to} onChange={(to) => onChange({ to })} options={TO} />
        {d.to === 'time' && (
          <Field label="Time, not included" hint={times} error={errorOf('toTime')}>
            <Input
              type="datetime-local"
              step={1}
              value={d.toTime}
              onChange={(e) => onChange({ toTime: e.target.value })}
            />
          </Field>
        )}
        {d.to === 'offsets' && (
          <OffsetField
            value={d.toOffsets}
            error={errorOf('toOffsets')}
            hint="Not included. Other partitions are read to their end."
            onChange={(toOffsets) => onChange({ toOffsets })}
          />
        )}
      </Group>
      <div className="field-row">
        {d.from !== 'offsets' && (
          <Field label="Partitions" optional hint="Such as 0, 2-4. Empty: all." error={errorOf('partitions')}>
            <Input value={d.partitions} onChange={(e) => onChange({ partitions: e.target.value })} />
          </Field>
        )}
        <WorkspaceSelect
          value={d.workspaceId}
          onChange={(workspaceId) => onChange({ workspaceId })}
          none="All"
          error={errorOf('workspaceId')}
        />
        <Field
          label="Rows a second"
          optional
          hint="Maximum. Empty: unlimited; the live consumer has priority."
          error={errorOf('maxRows', 'maxRowsPerSecond')}
        >
          <Input
            inputMode="numeric"
            value={d.maxRows}
            onChange={(e) => onChange({ maxRows: e.target.value })}
          />
        </Field>
      </div>
    </>
  )
}

function OffsetField({
  value,
  error,
  hint,
  onChange,
}: {
  value: string
  error: string | undefined
  hint: string
  onChange: (value: string) => void
}) {
  return (
    <Field label="Partition and offset" hint={`Such as 0: 1200, 1: 980. ${hint}`} error={error}>
      <Textarea
        rows={2}
        value={value}
        onChange={(e) => onChange(e.target.value)}
        spellCheck={false}
        className="mono"
      />
    </Field>
  )
}

const RANGES: Column<ReplayPartition>[] = [
  { id: 'partition', head: 'Partition', primary: true, narrow: true, cell: (p) => <b>{p.partition}</b> },
  { id: 'from', head: 'From', numeric: true, cell: (p) => num(p.from) },
  { id: 'to', head: 'To, not included', numeric: true, cell: (p) => num(p.to) },
  { id: 'records', head: 'Records', numeric: true, cell: (p) => num(p.to - p.from) },
]

function Plan({ plan }: { plan: PlannedReplay }) {
  return (
    <Notice
      title={`${plural(plan.records, 'record')} of ${plural(plan.partitions.length, 'partition')} would be read`}
    >
      <p>
        Consumer {plan.consumer} stores the points with their original versions: newer points are not
        overwritten.
      </p>
      <details className="pipeline-details">
        <summary>The ranges</summary>
        <Table label="Ranges" columns={RANGES} rows={plan.partitions} rowKey={(p) => String(p.partition)} />
      </details>
    </Notice>
  )
}
