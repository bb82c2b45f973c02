import { useState } from 'react'

import { ErrorNotice, Name, Num, Pager, Panel, Table, Time, type Column } from '@/ui'

import { useSeries } from './data'
import { TagList } from './parts'
import type { Series } from './shapes'

const COLUMNS: Column<Series>[] = [
  { id: 'metric', head: 'Metric', primary: true, cell: (s) => <Name text={s.metric} strong /> },
  { id: 'tags', head: 'Tags', cell: (s) => <TagList tags={s.tags} max={6} /> },
  { id: 'kind', head: 'Kind', narrow: true, cell: (s) => s.kind },
  { id: 'unit', head: 'Unit', narrow: true, wide: true, cell: (s) => <Name text={s.unit} max={24} /> },
  { id: 'count', head: 'Points', numeric: true, narrow: true, cell: (s) => <Num n={s.count} /> },
  { id: 'first', head: 'First point', narrow: true, wide: true, cell: (s) => <Time at={s.firstSeen} /> },
  { id: 'last', head: 'Last point', narrow: true, cell: (s) => <Time at={s.lastSeen} /> },
]

/** The series of a source, paginated: there can be very many. */
export function SeriesTable({ sourceId }: { sourceId: string }) {
  const [offset, setOffset] = useState(0)
  const series = useSeries([sourceId], offset)
  if (series.data?.meta.total === 0) return null
  return (
    <Panel title="Series" note="Each metric with its tags. Counts are updated periodically." flush>
      {series.isError ? (
        <ErrorNotice error={series.error} onRetry={() => void series.refetch()} />
      ) : (
        <Table
          label="Series"
          columns={COLUMNS}
          rows={series.data?.data}
          loading={series.isPending}
          stale={series.isPlaceholderData}
          rowKey={(s) => s.id}
          skeletonRows={3}
        />
      )}
      {series.data && <Pager meta={series.data.meta} onOffset={setOffset} what="series" />}
    </Panel>
  )
}
