/**
 * Points as they arrive, kept for a chart that moves on with time. Whatever the rate,
 * and however long nobody looks, what is kept is bounded: the window is cut into as
 * many slices as a chart has columns, which are the places of a ring, and of each slice
 * the first, the lowest, the highest and the last point stay, which draw the same line
 * as all of them.
 */
import type { PointRows, Tags } from './shapes'
import { broken, type Line, usualGap } from './lines'
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

/** What the event `deleted` of a stream says; null: all. */
export interface Deletion {
  sourceId: string
  metric: string | null
  from: number | null
  to: number | null
  wholeSource: boolean
}

export const MAX_LIVE_SERIES = 200

export class LiveWindow {
  /** Microseconds. */
  readonly span: number
  private readonly slice: number
  private readonly columns: number
  private readonly byKey = new Map<string, LiveSeries>()
  /** Series that are not kept, because there are too many. */
  private readonly ignored = new Set<string>()

  constructor(spanMs: number, columns = 600) {
    this.span = spanMs * 1000
    this.slice = this.span / columns
    this.columns = columns
  }

  /** How many series are left out, as far as they are counted. */
  get more(): number {
    return this.ignored.size
  }

  /** Takes the points of an answer or of an event, those of the window at this time. Returns how many there were. */
  add(rows: readonly PointRows[], nowMs: number): number {
    const [oldest, newest] = this.reach(nowMs)
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
      // A window back and one ahead, where clocks differ.
      points: new Ring(2 * this.columns + 4),
    }
    this.byKey.set(key, series)
    return series
  }

  /** The slices of the window, and of one ahead, where clocks differ. */
  private reach(nowMs: number): [oldest: number, newest: number] {
    const now = nowMs * 1000
    return [Math.floor((now - this.span) / this.slice) - 1, Math.ceil((now + this.span) / this.slice)]
  }

  /** Forgets what is older than the window, and what is further ahead than it is long. */
  trim(nowMs: number): void {
    const [oldest, newest] = this.reach(nowMs)
    for (const series of this.byKey.values()) series.points.keep(oldest, newest)
  }

  /** Forgets points that were deleted. */
  remove(gone: Deletion): void {
    const from = gone.from ?? -Infinity
    const to = gone.to ?? Infinity
    const within = (time: number) => time >= from && time < to
    for (const series of this.byKey.values()) {
      if (series.sourceId !== gone.sourceId) continue
      if (gone.metric !== null && gone.metric !== series.metric) continue
      if (series.latest && within(series.latest.time)) series.latest = null
      series.points.remove((point) => within(point[0]))
    }
  }

  /** All series, by metric and tags. */
  series(): LiveSeries[] {
    return [...this.byKey.values()].sort((a, b) => compare(a.metric, b.metric) || compare(a.key, b.key))
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** The identity of a series. */
export function keyOf(row: Pick<PointRows, 'sourceId' | 'metric' | 'kind' | 'tags'>): string {
  const tags = Object.keys(row.tags)
    .sort()
    .map((key) => [key, row.tags[key]])
  return JSON.stringify([row.sourceId, row.metric, row.kind, tags])
}

/**
 * A series as a line, with a gap wherever two points are further apart than `gap`
 * microseconds; undefined: than is usual for them.
 */
export function liveLine(series: LiveSeries, label: string, gap?: number): Line {
  const line: Line = { key: series.key, label, unit: series.unit, times: [], values: [] }
  for (const [time, value] of series.points.sorted()) {
    line.times.push(time)
    line.values.push(value)
  }
  // Points that were thinned out for a long window are further apart than they were sent.
  return broken(line, gap === undefined ? undefined : Math.max(gap, usualGap(line.times)))
}

/** The tags of a series as text; what all have in common is left out. */
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
