/**
 * A bounded buffer of live points for a chart that moves with time. The window is divided into as many slices as a
 * chart has columns, which are the slots of a ring. Each slice keeps its first, lowest, highest and last point, which
 * draw the same line as all points. The size does not depend on the rate or on how often it is read.
 */
import type { PointRows, Tags } from './shapes'
import { withGaps, type Line, gapThreshold } from './lines'
import { Ring } from './ring'

export interface LiveSeries {
  key: string
  sourceId: string | null
  metric: string
  unit: string | null
  tags: Tags
  text: boolean
  /** The point with the newest time. */
  latest: { time: number; value: number | string } | null
  points: Ring
}

/** The data of a `deleted` event of a stream; null for all. */
export interface Deletion {
  sourceId: string
  metric: string | null
  from: number | null
  to: number | null
  wholeSource: boolean
}

export const MAX_LIVE_SERIES = 200

export class LiveWindow {
  /** In microseconds. */
  readonly span: number
  private readonly slice: number
  private readonly columns: number
  private readonly byKey = new Map<string, LiveSeries>()
  /** Series that are not kept because there are too many. */
  private readonly ignored = new Set<string>()

  constructor(spanMs: number, columns = 600) {
    this.span = spanMs * 1000
    this.slice = this.span / columns
    this.columns = columns
  }

  /** The number of left out series, as far as they are counted. */
  get more(): number {
    return this.ignored.size
  }

  /** Adds points of a response or an event that are within the window at this time. Returns their number. */
  add(rows: readonly PointRows[], nowMs: number): number {
    const [oldest, newest] = this.sliceRange(nowMs)
    let points = 0
    for (const row of rows) {
      const series = this.seriesOf(row)
      points += row.points.length
      if (!series) continue
      for (const point of row.points) {
        const time = Number(point[0])
        const value = point[1]
        if (value === null || value === undefined) continue
        if (!series.latest || time >= series.latest.time) series.latest = { time, value }
        const at = Math.floor(time / this.slice)
        if (typeof value === 'number' && at >= oldest && at <= newest) series.points.put(at, [time, value])
      }
    }
    return points
  }

  private seriesOf(row: PointRows): LiveSeries | undefined {
    const key = keyOf(row)
    let series = this.byKey.get(key)
    if (series) return series
    if (this.byKey.size >= MAX_LIVE_SERIES) {
      if (this.ignored.size < 10 * MAX_LIVE_SERIES) this.ignored.add(key)
      return undefined
    }
    series = {
      key,
      sourceId: row.sourceId,
      metric: row.metric ?? '',
      unit: row.unit,
      tags: row.tags,
      text: row.kind === 'string',
      latest: null,
      // A window back and one ahead, because clocks may differ.
      points: new Ring(2 * this.columns + 4),
    }
    this.byKey.set(key, series)
    return series
  }

  /** Returns the slices of the window and of one ahead, because clocks may differ. */
  private sliceRange(nowMs: number): [oldest: number, newest: number] {
    const now = nowMs * 1000
    return [Math.floor((now - this.span) / this.slice) - 1, Math.ceil((now + this.span) / this.slice)]
  }

  /** Removes points that are older than the window, and those further ahead than its length. */
  trim(nowMs: number): void {
    const [oldest, newest] = this.sliceRange(nowMs)
    for (const series of this.byKey.values()) series.points.keep(oldest, newest)
  }

  /** Removes deleted points. */
  remove(deletion: Deletion): void {
    const from = deletion.from ?? -Infinity
    const to = deletion.to ?? Infinity
    const isDeleted = (time: number) => time >= from && time < to
    for (const series of this.byKey.values()) {
      if (series.sourceId !== deletion.sourceId) continue
      if (deletion.metric !== null && deletion.metric !== series.metric) continue
      if (series.latest && isDeleted(series.latest.time)) series.latest = null
      series.points.remove((point) => isDeleted(point[0]))
    }
  }

  /** Returns all series by metric and tags. */
  series(): LiveSeries[] {
    return [...this.byKey.values()].sort((a, b) => compare(a.metric, b.metric) || compare(a.key, b.key))
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** Returns the identity of a series. */
export function keyOf(row: Pick<PointRows, 'sourceId' | 'metric' | 'kind' | 'tags'>): string {
  const tags = Object.keys(row.tags)
    .sort()
    .map((key) => [key, row.tags[key]])
  return JSON.stringify([row.sourceId, row.metric, row.kind, tags])
}

/**
 * Returns a series as a line with a gap wherever two points are further apart than `gap` microseconds; by default the
 * threshold is derived from the points.
 */
export function liveLine(series: LiveSeries, label: string, gap?: number): Line {
  const line: Line = { key: series.key, label, unit: series.unit, times: [], values: [] }
  for (const [time, value] of series.points.sorted()) {
    line.times.push(time)
    line.values.push(value)
  }
  // Points that were thinned for a long window are further apart than they were sent.
  return withGaps(line, gap === undefined ? undefined : Math.max(gap, gapThreshold(line.times)))
}

/** Returns the tags of series as text; parts that all have in common are omitted. */
export function tagNames(list: readonly LiveSeries[]): string[] {
  const keys = [...new Set(list.flatMap((series) => Object.keys(series.tags)))].sort()
  const shown = keys.filter((key) => new Set(list.map((series) => series.tags[key])).size > 1)
  return list.map((series) => {
    const parts = shown.flatMap((key) =>
      series.tags[key] === undefined ? [] : [`${key}=${series.tags[key]}`],
    )
    return parts.length > 0 ? parts.join(' · ') : series.metric
  })
}
