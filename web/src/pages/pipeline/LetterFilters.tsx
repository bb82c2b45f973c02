import { WorkspaceSelect } from '@/app/WorkspaceSelect'
import { Button, Field, Input, PausedSearch, Segmented, Select, useTyped } from '@/ui'

import { browserZone, instantOf, wallOf } from '../sources/zones'
import { type LetterQuery, narrowed } from './letters'
import type { LetterState } from './shapes'

const STATES: readonly { value: LetterState | 'all'; label: string }[] = [
  { value: 'open', label: 'Open' },
  { value: 'redriven', label: 'Redriven' },
  { value: 'discarded', label: 'Discarded' },
  { value: 'all', label: 'All' },
]

const TOPICS = [
  { value: '', label: 'All topics' },
  { value: 'points.dlq', label: 'points' },
  { value: 'graph.commands.dlq', label: 'graph.commands' },
  { value: 'graph.events.dlq', label: 'graph.events' },
  { value: 'audit.dlq', label: 'audit' },
]

/** Which dead letters are listed. */
export function LetterFilters({
  query,
  onChange,
}: {
  query: LetterQuery
  onChange: (change: Partial<LetterQuery>) => void
}) {
  return (
    <div className="pipeline-filters">
      <Segmented
        label="State"
        value={query.state || 'all'}
        onChange={(state) => onChange({ state: state === 'all' ? '' : state })}
        options={STATES}
      />
      <Field label="Topic" hideLabel>
        <Select
          value={query.topic}
          onChange={(e) => onChange({ topic: e.target.value })}
          options={TOPICS.some((one) => one.value === query.topic) ? TOPICS : [...TOPICS, query.topic]}
        />
      </Field>
      <WorkspaceSelect
        hideLabel
        beside
        value={query.workspaceId}
        onChange={(workspaceId) => onChange({ workspaceId })}
        none="All workspaces"
      />
      <PausedSearch
        label="Reason contains"
        value={query.reason}
        onChange={(reason) => onChange({ reason })}
      />
      <div className="pipeline-times">
        <Moment label="From" value={query.from} onChange={(from) => onChange({ from })} />
        <Moment label="To" value={query.to} onChange={(to) => onChange({ to })} />
      </div>
      {narrowed({ ...query, state: 'open' }) && (
        <Button
          size="s"
          variant="ghost"
          onClick={() => onChange({ topic: '', workspaceId: '', from: '', to: '', reason: '' })}
        >
          Clear
        </Button>
      )}
    </div>
  )
}

/** A time of this browser's zone. It holds when it is left. */
function Moment({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (at: string) => void
}) {
  const zone = browserZone()
  const shown = value ? wallOf(Date.parse(value), zone) : ''
  const [typed, setTyped] = useTyped(shown)
  const take = () => {
    const at = instantOf(typed, zone)
    if (typed === '') onChange('')
    else if (at !== undefined) onChange(new Date(at).toISOString())
  }
  return (
    <Field label={label} className="pipeline-moment">
      <Input
        type="datetime-local"
        value={typed}
        onChange={(e) => setTyped(e.target.value)}
        onBlur={() => typed !== shown && take()}
        onKeyDown={(e) => e.key === 'Enter' && take()}
        title={`Time of ${zone}`}
      />
    </Field>
  )
}
