import { ChartLine } from 'lucide-react'
import { useState } from 'react'

import { ApiError } from '@/api'
import { Badge, Button, Empty, ErrorNotice, Notice, num, Pager, Panel, plural, Skeleton, Tabs } from '@/ui'
import { Chart } from '@/ui/Chart'

import type { Answer } from './data'
import { align, commonUnit, linesOf, MAX_LINES } from './lines'
import { PointTable } from './PointTable'
import { bounds, type Explore, type Pair } from './query'
import { RequestView } from './RequestView'

interface ResultsProps {
  explore: Explore
  /** Null: the query cannot be sent as it is. */
  pairs: readonly Pair[] | null
  answer: Answer | undefined
  /** Milliseconds. */
  answeredAt: number
  /** The answer is that of the query before. */
  stale: boolean
  pending: boolean
  error: unknown
  onChange: (next: Partial<Explore>, push?: boolean) => void
  onReload: () => void
}

type View = 'chart' | 'table' | 'request'

/** The answer to the query: drawn, as a table, and as what was asked. */
export function Results(props: ResultsProps) {
  const { explore, pairs, answer, stale, pending, error, onChange, onReload } = props
  const [view, setView] = useState<View>('chart')
  return (
    <>
      {pairs === null && (
        <Notice tone="warn" title="The query is not complete">
          <p>What is wrong stands at its field. The chart is that of the query before.</p>
        </Notice>
      )}
      {Boolean(error) && (
        <ErrorNotice error={error} onRetry={onReload}>
          <Smaller error={error} explore={explore} onChange={onChange} />
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
            label="How it is shown"
            value={view}
            onChange={setView}
            tabs={[
              { value: 'chart', label: 'Chart', content: <ChartView {...props} answer={answer} /> },
              {
                value: 'table',
                label: 'Table',
                content: <PointTable answer={answer} zone={explore.zone} pairs={pairs} />,
              },
              { value: 'request', label: 'As a command', content: <RequestView pairs={pairs} /> },
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

/** What makes a query smaller that was too large. */
function Smaller({
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
            Thin them out
          </Button>
          <Button size="s" onClick={() => onChange({ mode: 'aggregated' })}>
            Aggregate them
          </Button>
        </>
      )}
      {explore.mode === 'aggregated' && explore.interval !== 'auto' && (
        <Button size="s" onClick={() => onChange({ interval: 'auto' })}>
          Choose the interval for me
        </Button>
      )}
    </p>
  )
}

function ChartView({ explore, answer, answeredAt, onChange }: ResultsProps & { answer: Answer }) {
  const drawing = linesOf(answer.data)
  const { from, to } = bounds(explore.range, answeredAt)
  if (answer.data.length === 0) {
    return (
      <Empty icon={<ChartLine size={20} />} title="No series match">
        <p>Choose other sources or metrics, or fewer tags. The table of a source lists the series it has.</p>
      </Empty>
    )
  }
  if (explore.mode === 'latest') {
    return (
      <Empty title="One point is no line">
        <p>The newest point of each series stands in the table.</p>
      </Empty>
    )
  }
  if (drawing.lines.length === 0) {
    return (
      <Empty
        icon={<ChartLine size={20} />}
        title={drawing.texts > 0 && drawing.points > 0 ? 'Texts have no line' : 'No points in this range'}
      >
        <p>
          {drawing.texts > 0 && drawing.points > 0
            ? 'These series hold texts: the table has their points.'
            : `${plural(answer.meta.total, 'series', 'series')} match, but none has a point then. Choose a longer range.`}
        </p>
      </Empty>
    )
  }
  const unit = commonUnit(drawing.lines)
  const [times, ...values] = align(drawing.lines)
  return (
    <div className="sources-result">
      <p className="row sources-said" role="status">
        <span>
          {plural(drawing.lines.length, 'line')}, {plural(drawing.points, 'point')}
        </span>
        {answer.meta.interval && <Badge>intervals of {answer.meta.interval}</Badge>}
        {unit !== null && <Badge>{unit}</Badge>}
        {drawing.more > 0 && (
          <Badge tone="warn">
            {num(MAX_LINES)} of {num(MAX_LINES + drawing.more)} lines are drawn
          </Badge>
        )}
        {drawing.texts > 0 && (
          <Badge>{plural(drawing.texts, 'series', 'series')} of texts in the table</Badge>
        )}
        <span className="muted sources-hint">Drag over the chart to look closer; Back leads out again.</span>
      </p>
      <Chart
        label="Points"
        times={times}
        series={drawing.lines.map((line, i) => ({ label: line.label, values: values[i] ?? [] }))}
        range={[from / 1000, to / 1000]}
        height={360}
        zone={explore.zone}
        onSelect={(a, b) =>
          onChange(
            {
              range: {
                from: Math.round(a * 1000),
                to: Math.max(Math.round(b * 1000), Math.round(a * 1000) + 1),
              },
              offset: explore.offset,
            },
            true,
          )
        }
      />
    </div>
  )
}
