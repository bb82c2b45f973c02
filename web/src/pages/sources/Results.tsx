import { ChartLine } from 'lucide-react'
import { useMemo, useState } from 'react'

import { ApiError } from '@/api'
import {
  Badge,
  Button,
  Empty,
  ErrorNotice,
  Notice,
  num,
  Pager,
  Panel,
  plural,
  Skeleton,
  Tabs,
  visible,
} from '@/ui'
import { Chart } from '@/ui/Chart'
import { durationMs } from '@/ui/spans'

import type { Answer } from './data'
import { byUnit, chartData, type Line, linesOf, MAX_LINES } from './lines'
import { PointTable } from './PointTable'
import { bounds, type Explore, type Pair } from './query'
import { RequestView } from './RequestView'

interface ResultsProps {
  explore: Explore
  /** Null if the query is invalid. */
  pairs: readonly Pair[] | null
  answer: Answer | undefined
  /** The response belongs to the previous query. */
  stale: boolean
  pending: boolean
  error: unknown
  onChange: (next: Partial<Explore>, push?: boolean) => void
  onReload: () => void
}

type View = 'chart' | 'table' | 'request'

/** The response as a chart, a table and a request. */
export function Results(props: ResultsProps) {
  const { explore, pairs, answer, stale, pending, error, onChange, onReload } = props
  const [view, setView] = useState<View>('chart')
  return (
    <>
      {pairs === null && (
        <Notice tone="warn" title="The query is not complete">
          <p>Correct the marked field. The chart shows the previous query.</p>
        </Notice>
      )}
      {Boolean(error) && (
        <ErrorNotice error={error} onRetry={onReload}>
          <SmallerQueryActions error={error} explore={explore} onChange={onChange} />
        </ErrorNotice>
      )}
      {pending && (
        <Panel>
          <Skeleton height={320} />
        </Panel>
      )}
      {answer && (
        <Panel className={stale ? 'sources-stale' : undefined}>
          <Tabs
            label="View"
            value={view}
            onChange={setView}
            tabs={[
              { value: 'chart', label: 'Chart', content: <ChartView {...props} answer={answer} /> },
              {
                value: 'table',
                label: 'Table',
                content: <PointTable answer={answer} zone={explore.zone} pairs={pairs} />,
              },
              { value: 'request', label: 'Command', content: <RequestView pairs={pairs} /> },
            ]}
          />
          {answer.meta.total > answer.meta.limit && (
            <Pager meta={answer.meta} onOffset={(offset) => onChange({ offset })} what="series" />
          )}
        </Panel>
      )}
    </>
  )
}

/** Buttons that reduce a query that was too large. */
function SmallerQueryActions({
  error,
  explore,
  onChange,
}: {
  error: unknown
  explore: Explore
  onChange: ResultsProps['onChange']
}) {
  if (!(error instanceof ApiError) || !error.details['narrow']) return null
  return (
    <p className="row sources-smaller">
      {explore.mode === 'raw' && (
        <>
          <Button size="s" onClick={() => onChange({ mode: 'thinned' })}>
            Downsample
          </Button>
          <Button size="s" onClick={() => onChange({ mode: 'aggregated' })}>
            Aggregate
          </Button>
        </>
      )}
      {explore.mode === 'aggregated' && explore.interval !== 'auto' && (
        <Button size="s" onClick={() => onChange({ interval: 'auto' })}>
          Automatic interval
        </Button>
      )}
    </p>
  )
}

function ChartView({ explore, answer, onChange }: ResultsProps & { answer: Answer }) {
  // Aggregated rows have no gaps between them; for points the usual distance decides.
  const interval = durationMs(answer.meta.interval ?? '', 'smhd')
  const gap = interval === undefined ? undefined : interval * 1500
  const drawing = useMemo(() => linesOf(answer.data, MAX_LINES, gap), [answer.data, gap])
  const groups = useMemo(() => byUnit(drawing.lines), [drawing])
  const { from, to } = bounds(explore.range, answer.receivedAt)
  if (answer.data.length === 0) {
    return (
      <Empty icon={<ChartLine size={20} />} title="No series match">
        <p>Select other sources or metrics, or fewer tags. The page of a source lists its series.</p>
      </Empty>
    )
  }
  if (explore.mode === 'latest') {
    return (
      <Empty title="A single point has no line">
        <p>The table shows the latest point of each series.</p>
      </Empty>
    )
  }
  if (drawing.lines.length === 0) {
    return (
      <Empty
        icon={<ChartLine size={20} />}
        title={drawing.texts > 0 && drawing.points > 0 ? 'Strings have no line' : 'No points in this range'}
      >
        <p>
          {drawing.texts > 0 && drawing.points > 0
            ? 'These series contain strings: see the table.'
            : `${plural(answer.meta.total, 'series matches', 'series match')}, but none has points in this range. Select a longer range.`}
        </p>
      </Empty>
    )
  }
  const shown = groups.slice(0, MAX_UNITS)
  const look = (from: number, to: number) =>
    onChange(
      {
        range: {
          from: Math.round(from * 1000),
          to: Math.max(Math.round(to * 1000), Math.round(from * 1000) + 1),
        },
        offset: explore.offset,
      },
      true,
    )
  return (
    <div className="sources-result">
      <p className="row sources-said" role="status">
        <span>
          {plural(drawing.lines.length, 'line')}, {plural(drawing.points, 'point')}
        </span>
        {answer.meta.interval && <Badge>intervals of {answer.meta.interval}</Badge>}
        {drawing.more > 0 && (
          <Badge tone="warn">
            {num(MAX_LINES)} of {num(MAX_LINES + drawing.more)} lines are drawn
          </Badge>
        )}
        {groups.length > MAX_UNITS && (
          <Badge tone="warn">
            {plural(groups.length - MAX_UNITS, 'more unit is', 'more units are')} not drawn
          </Badge>
        )}
        {drawing.empty > 0 && <Badge>{num(drawing.empty)} without data</Badge>}
        {drawing.texts > 0 && <Badge>{num(drawing.texts)} of strings, in the table</Badge>}
        <span className="muted sources-hint">Drag over a chart to zoom in; Back zooms out.</span>
      </p>
      {shown.map((group) => (
        <UnitChart
          key={group.unit ?? ''}
          unit={group.unit}
          lines={group.lines}
          single={shown.length === 1}
          range={[from / 1000, to / 1000]}
          zone={explore.zone}
          onSelect={look}
        />
      ))}
    </div>
  )
}

/** The maximum number of charts. */
const MAX_UNITS = 8

interface UnitChartProps {
  unit: string | null
  lines: Line[]
  single: boolean
  range: readonly [number, number]
  zone: string
  onSelect: (from: number, to: number) => void
}

/** The chart of one unit. */
function UnitChart({ unit, lines, single, range, zone, onSelect }: UnitChartProps) {
  const { times, series } = useMemo(() => chartData(lines), [lines])
  const name = unit === null ? 'without a unit' : visible(unit, 40)
  return (
    <section className="sources-unit" aria-label={name}>
      {(!single || unit !== null) && <h2>{name}</h2>}
      <Chart
        label={`Points, ${name}`}
        times={times}
        series={series}
        range={range}
        height={single ? 360 : 200}
        zone={zone}
        sync="sources-explore"
        onSelect={onSelect}
      />
    </section>
  )
}
