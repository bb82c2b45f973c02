import { WorkspaceSelect } from '@/app/WorkspaceSelect'
import { Button, Field, DebouncedSearch, Segmented, Select } from '@/ui'

import { TimeField } from '../sources/TimeField'
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
        <TimeField
          className="pipeline-moment"
          label="From"
          value={query.from}
          onChange={(from) => onChange({ from })}
        />
        <TimeField
          className="pipeline-moment"
          label="To"
          value={query.to}
          onChange={(to) => onChange({ to })}
        />
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
