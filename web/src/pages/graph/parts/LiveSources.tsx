// The live data sources of a node, each with its series.

import { useQuery } from '@tanstack/react-query'
import { Link } from 'react-router'

import { api } from '@/api'
import { Badge, compact, ErrorNotice, Name, plural, Skeleton, Sparkline, Time, visible } from '@/ui'

import { linesBySource, type PointRows, type SeriesLine } from '../model/series'
import { useShared } from './context'

interface Source {
  id: string
  name: string
  status: 'active' | 'stale' | 'never' | null
  lastSeenAt: string | null
}

/** Milliseconds between requests of the newest values. */
const REFRESH_MS = 5_000
const MAX_SOURCES = 10
const MAX_LINES = 8
const TONES = { active: 'ok', stale: 'warn', never: 'neutral' } as const

export function LiveSources({ nodeId }: { nodeId: string }) {
  const { workspace } = useShared()
  const sources = useQuery({
    queryKey: ['graph', workspace, 'sources', nodeId],
    queryFn: ({ signal }) =>
      api.list<Source>('/live-data/sources', { workspace, query: { nodeId, limit: MAX_SOURCES }, signal }),
  })
  const some = (sources.data?.data.length ?? 0) > 0
  const newest = useQuery({
    queryKey: ['graph', workspace, 'newest', nodeId],
    queryFn: ({ signal }) =>
      api.list<PointRows>('/live-data/query', {
        workspace,
        query: { nodeId, latest: true, limit: 100 },
        signal,
      }),
    enabled: some,
    refetchInterval: REFRESH_MS,
  })
  const lines = useQuery({
    queryKey: ['graph', workspace, 'lines', nodeId],
    queryFn: ({ signal }) =>
      api.list<PointRows>('/live-data/query', {
        workspace,
        query: { nodeId, from: '-15m', aggregation: 'avg', interval: '15s', fill: 'null', limit: 100 },
        signal,
      }),
    enabled: some,
    refetchInterval: REFRESH_MS * 3,
  })
  if (sources.error)
    return <ErrorNotice error={sources.error} compact onRetry={() => void sources.refetch()} />
  if (!sources.data) return <Skeleton lines={2} />
  const { data, meta } = sources.data
  if (data.length === 0) {
    return (
      <p className="muted">
        No source is linked to this node. Set the field <code>nodeId</code> of a source to link it.
      </p>
    )
  }
  const bySource = linesBySource(newest.data?.data ?? [], lines.data?.data ?? [])
  return (
    <div className="stack graph-live">
      {newest.error && <ErrorNotice error={newest.error} compact />}
      {data.map((source) => (
        <SourceLines
          key={source.id}
          source={source}
          lines={bySource.get(source.id) ?? []}
          workspace={workspace}
        />
      ))}
      {meta.total > data.length && (
        <p className="muted">and {plural(meta.total - data.length, 'more source')}</p>
      )}
    </div>
  )
}

function SourceLines({
  source,
  lines,
  workspace,
}: {
  source: Source
  lines: SeriesLine[]
  workspace: string
}) {
  const to = `/sources/${encodeURIComponent(source.id)}?workspace=${encodeURIComponent(workspace)}`
  return (
    <section className="graph-source">
      <header className="graph-source-head">
        <Link to={to}>
          <Name text={source.name} strong />
        </Link>
        {source.status && (
          <Badge tone={TONES[source.status]} dot>
            {source.status}
          </Badge>
        )}
      </header>
      {source.status !== 'active' && source.lastSeenAt && (
        <p className="muted">
          Last seen <Time at={source.lastSeenAt} />
        </p>
      )}
      {lines.length > 0 && (
        <ul className="graph-series">
          {lines.slice(0, MAX_LINES).map((line) => (
            <li key={line.key}>
              <span className="graph-series-name" title={visible(line.name, 200)}>
                {visible(line.name, 80)}
              </span>
              {line.trend.length > 1 && <Sparkline values={line.trend} />}
              <span className="graph-series-value">
                {typeof line.value === 'number' ? compact(line.value) : visible(line.value ?? '–', 40)}
                {line.unit && <span className="muted"> {visible(line.unit, 12)}</span>}
              </span>
            </li>
          ))}
        </ul>
      )}
      {lines.length > MAX_LINES && (
        <Link to={to} className="graph-source-more">
          {plural(lines.length - MAX_LINES, 'more series', 'more series')}
        </Link>
      )}
    </section>
  )
}
