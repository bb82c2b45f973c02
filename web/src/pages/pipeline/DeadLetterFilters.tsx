import { WorkspaceSelect } from '@/app/WorkspaceSelect'
import { Button, Field, Input, DebouncedSearch, Segmented, Select, useEditableValue } from '@/ui'

import { browserZone, instantOf, wallOf } from '../sources/zones'
import { type DeadLetterQuery, isFiltered } from './deadLetterActions'
import type { DeadLetterState } from './shapes'

const STATES: readonly { value: DeadLetterState | 'all'; label: string }[] = [
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

/** The filters of the list. */
export function DeadLetterFilters({
  query,
  onChange,
}: {
  query: DeadLetterQuery
  onChange: (change: Partial<DeadLetterQuery>) => void
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
          options={TOPICS.some((item) => item.value === query.topic) ? TOPICS : [...TOPICS, query.topic]}
        />
      </Field>
      <WorkspaceSelect
        hideLabel
        beside
        value={query.workspaceId}
        onChange={(workspaceId) => onChange({ workspaceId })}
        none="All workspaces"
      />
      <DebouncedSearch
        label="Reason contains"
        value={query.reason}
        onChange={(reason) => onChange({ reason })}
      />
      <div className="pipeline-times">
        <TimeField label="From" value={query.from} onChange={(from) => onChange({ from })} />
        <TimeField label="To" value={query.to} onChange={(to) => onChange({ to })} />
      </div>
      {isFiltered({ ...query, state: 'open' }) && (
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

/** An input for a time in the zone of the browser. It applies on blur. */
function TimeField({
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
  const [typed, setTyped] = useEditableValue(shown)
  const apply = () => {
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
        onBlur={() => typed !== shown && apply()}
        onKeyDown={(e) => e.key === 'Enter' && apply()}
        title={`Time of ${zone}`}
      />
    </Field>
  )
}
