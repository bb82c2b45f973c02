import { Pause, Play } from 'lucide-react'
import { useEffect, useMemo, useState, useSyncExternalStore } from 'react'

import { subscribe, type StreamState } from '@/api'
import { useWorkspace } from '@/app/workspace'
import {
  Badge,
  Button,
  compact,
  Dot,
  Empty,
  ErrorNotice,
  IconButton,
  Name,
  Notice,
  num,
  Panel,
  Segmented,
  Select,
  Skeleton,
  Time,
  visible,
} from '@/ui'
import { Chart } from '@/ui/Chart'

import { askPoints } from './data'
import { Feed, type LiveMetric, MAX_CHART_LINES, withFallback, type Snapshot } from './feed'
import { chartData } from './lines'
import { MAX_LIVE_SERIES } from './live'
import type { Pair } from './query'
import type { Source } from './shapes'

const WINDOWS = [
  { value: '1m', label: '1 min', ms: 60_000 },
  { value: '5m', label: '5 min', ms: 300_000 },
  { value: '15m', label: '15 min', ms: 900_000 },
  { value: '1h', label: '1 h', ms: 3_600_000 },
] as const

type Window = (typeof WINDOWS)[number]['value']

/** The maximum number of charts per page, for performance. */
const CHARTS_PER_PAGE = 12

/** Live charts of a source. */
export function LiveCharts({ source }: { source: Source }) {
  const [span, setSpan] = useState<Window>('5m')
  const [metric, setMetric] = useState('')
  const [paused, setPaused] = useState(false)
  const [generation, setGeneration] = useState(0)
  const feed = useFeed(source, span, metric, generation)
  const shown = useSyncExternalStore(feed.listen, feed.snapshot)
  useEffect(() => feed.pause(paused), [feed, paused])
  return (
    <Panel
      title="Live"
      note={<StreamStatus state={shown.stream} rate={shown.rate} paused={paused} />}
      actions={
        <>
          <MetricChoice source={source} shown={shown} value={metric} onChange={setMetric} />
          <Segmented label="Time window" value={span} onChange={setSpan} options={WINDOWS} />
          <IconButton
            label={paused ? 'Resume' : 'Pause'}
            pressed={paused}
            variant="default"
            onClick={() => setPaused(!paused)}
          >
            {paused ? <Play size={14} /> : <Pause size={14} />}
          </IconButton>
        </>
      }
    >
      <div className="stack">
        <Warnings shown={shown} onAgain={() => setGeneration(generation + 1)} />
        <Metrics shown={shown} spanMs={spanOf(span)} source={source} />
      </div>
    </Panel>
  )
}

const spanOf = (span: Window) => WINDOWS.find((item) => item.value === span)?.ms ?? 300_000

function useFeed(source: Source, span: Window, metric: string, generation: number): Feed {
  const workspace = useWorkspace().id
  const { id, intervalSeconds } = source
  return useMemo(() => {
    const of: Pair[] = [['sourceId', id]]
    if (metric) of.push(['metric', metric])
    const query = { sourceId: id, metric, epoch: 'us' }
    return new Feed({
      spanMs: spanOf(span),
      gapMs: intervalSeconds ? Math.max(intervalSeconds * 3000, 2000) : undefined,
      subscribe: (s) => subscribe('/live-data/stream', { workspace, query, ...s }),
      history: async (signal) => {
        const latest = askPoints(workspace, [...of, ['latest', 'true'], ['limit', '100']], signal)
        const past = withFallback(
          () =>
            askPoints(
              workspace,
              [
                ...of,
                ['from', `-${span}`],
                ['downsample', 'lttb'],
                ['maxPoints', '600'],
                ['limit', '100'],
                ['pointsLimit', '100000'],
              ],
              signal,
            ),
          () => latest,
        )
        const [a, b] = await Promise.all([latest, past])
        return [...a.data, ...b.data]
      },
    })
    // A new number fetches again.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [workspace, id, intervalSeconds, span, metric, generation])
}

function StreamStatus({ state, rate, paused }: { state: StreamState; rate: number; paused: boolean }) {
  if (paused) return <Badge tone="accent">paused</Badge>
  switch (state.status) {
    case 'open':
      return (
        <span className="sources-stream">
          <Dot tone="ok" pulse /> connected{rate > 0 ? ` · ${compact(rate)} points/s` : ' · idle'}
        </span>
      )
    case 'connecting':
      return (
        <span className="sources-stream">
          <Dot tone="neutral" /> connecting
        </span>
      )
    case 'waiting':
      return (
        <span className="sources-stream tone-warn">
          <Dot tone="warn" /> disconnected, reconnecting in {Math.ceil(state.delay / 1000)} s
        </span>
      )
    case 'failed':
      return (
        <span className="sources-stream tone-bad">
          <Dot tone="bad" /> not connected
        </span>
      )
  }
}

function MetricChoice({
  source,
  shown,
  value,
  onChange,
}: {
  source: Source
  shown: Snapshot
  value: string
  onChange: (metric: string) => void
}) {
  const [seen, setSeen] = useState<readonly string[]>([])
  const known = [
    ...new Set([...seen, ...source.metrics.map((m) => m.name), ...shown.metrics.map((m) => m.metric)]),
  ].sort()
  // Every metric that was seen can be chosen, also while another one is selected.
  if (known.length > seen.length && known.length <= 1000) setSeen(known)
  if (known.length < 2) return null
  return (
    <Select
      aria-label="Metric"
      value={value}
      onChange={(e) => onChange(e.target.value)}
      options={[
        { value: '', label: 'All metrics' },
        ...known.map((name) => ({ value: name, label: visible(name, 60) })),
      ]}
    />
  )
}

function Warnings({ shown, onAgain }: { shown: Snapshot; onAgain: () => void }) {
  return (
    <>
      {shown.stream.status === 'failed' && (
        <ErrorNotice error={shown.stream.error} onRetry={onAgain} compact />
      )}
      {shown.problem !== null && shown.stream.status !== 'failed' && (
        <ErrorNotice error={shown.problem} onRetry={onAgain} compact>
          <p>Earlier points are missing; new points are shown.</p>
        </ErrorNotice>
      )}
      {shown.gap !== null && (
        <Notice title="The stream could not be resumed">
          <p>{visible(shown.gap, 300)}</p>
        </Notice>
      )}
      {shown.more > 0 && (
        <Notice title={`The first ${num(MAX_LIVE_SERIES)} series are shown; there are more`}>
          <p>Select a metric above, or a tag in the explorer.</p>
        </Notice>
      )}
    </>
  )
}

function Metrics({ shown, spanMs, source }: { shown: Snapshot; spanMs: number; source: Source }) {
  const [page, setPage] = useState(0)
  const { metrics } = shown
  if (metrics.length === 0) {
    if (shown.stream.status === 'connecting') return <Skeleton height={180} />
    return source.status === 'never' ? (
      <p className="muted">Charts appear here with the first point.</p>
    ) : (
      <Empty title="No points at the moment">
        <p>The source has no points. Charts appear with the next point.</p>
      </Empty>
    )
  }
  const pages = Math.ceil(metrics.length / CHARTS_PER_PAGE)
  const at = Math.min(page, pages - 1)
  return (
    <>
      <div className="sources-charts">
        {metrics.slice(at * CHARTS_PER_PAGE, (at + 1) * CHARTS_PER_PAGE).map((metric) => (
          <MetricCard key={metric.metric} metric={metric} at={shown.time} spanMs={spanMs} />
        ))}
      </div>
      {pages > 1 && (
        <div className="row spread">
          <span className="muted">
            Metrics {num(at * CHARTS_PER_PAGE + 1)}–
            {num(Math.min((at + 1) * CHARTS_PER_PAGE, metrics.length))} of {num(metrics.length)}
          </span>
          <span className="row">
            <Button size="s" disabled={at === 0} onClick={() => setPage(at - 1)}>
              Previous
            </Button>
            <Button size="s" disabled={at === pages - 1} onClick={() => setPage(at + 1)}>
              Next
            </Button>
          </span>
        </div>
      )}
    </>
  )
}

function MetricCard({ metric, at, spanMs }: { metric: LiveMetric; at: number; spanMs: number }) {
  const { lines, latest } = metric
  const { times, series } = useMemo(() => chartData(lines), [lines])
  const some = times.length > 0
  return (
    <section className="sources-chart" aria-label={visible(metric.metric, 80)}>
      <header>
        <h3>
          <Name text={metric.metric} />
        </h3>
        {latest && (
          <span className="sources-latest">
            <b>{typeof latest.value === 'number' ? compact(latest.value) : visible(latest.value, 40)}</b>
            {metric.unit !== null && <span className="muted"> {visible(metric.unit, 16)}</span>}
          </span>
        )}
        {!latest && metric.unit !== null && <span className="muted">{visible(metric.unit, 16)}</span>}
      </header>
      {metric.texts.map((text) => (
        <p key={text.key} className="sources-text">
          <Name text={text.latest ? String(text.latest.value) : null} strong />{' '}
          {text.latest && (
            <span className="muted">
              seen <Time at={new Date(text.latest.time / 1000).toISOString()} />
            </span>
          )}
        </p>
      ))}
      {lines.length > 0 && !some && latest && (
        <p className="sources-text muted">
          No points in this window. Last point: <Time at={new Date(latest.time / 1000).toISOString()} />.
        </p>
      )}
      {some && (
        <Chart
          label={visible(metric.metric, 80)}
          times={times}
          series={series}
          range={[(at - spanMs) / 1000, at / 1000]}
          height={150}
          legend={lines.length > 1}
          sync="sources-live"
        />
      )}
      {metric.more > 0 && (
        <p className="muted">
          {num(MAX_CHART_LINES)} of {num(MAX_CHART_LINES + metric.more)} series are drawn.
        </p>
      )}
    </section>
  )
}
