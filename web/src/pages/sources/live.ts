/**
 * Points as they arrive, kept for a chart that moves on with time. Whatever the rate,
 * what is kept is bounded: the window is cut into as many slices as a chart has
 * columns, and of each slice the first, the lowest, the highest and the last point
 * stay, which draw the same line as all of them.
 */
import type { PointRows, Tags } from './shapes'
import type { Line } from './lines'

/** A time in microseconds since the Unix epoch, and a value. */
type Point = [time: number, value: number]

export interface LiveSeries {
  key: string
  sourceId: string | null
  metric: string
  unit: string | null
  tags: Tags
  text: boolean
  /** The point with the newest time. */
  latest: { time: number; value: number | string } | null
  /** By the number of the slice. Each in no order, with each time once. */
  slices: Map<number, Point[]>
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

/** Points that a slice holds before it is thinned. */
const SLICE_POINTS = 16

export class LiveWindow {
  /** Microseconds. */
  readonly span: number
  private readonly slice: number
  private readonly byKey = new Map<string, LiveSeries>()
  /** Series that are not kept, because there are too many. */
  private readonly ignored = new Set<string>()

  constructor(spanMs: number, columns = 600) {
    this.span = spanMs * 1000
    this.slice = this.span / columns
  }

  /** How many series are left out, as far as they are counted. */
  get more(): number {
    return this.ignored.size
  }

  /** Takes the points of an answer or of an event. Returns how many there were. */
  add(rows: readonly PointRows[]): number {
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
        if (typeof value === 'number') this.put(series, time, value)
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
      slices: new Map(),
    }
    this.byKey.set(key, series)
    return series
  }

  private put(series: LiveSeries, time: number, value: number): void {
    const at = Math.floor(time / this.slice)
    const points = series.slices.get(at)
    if (!points) {
      series.slices.set(at, [[time, value]])
      return
    }
    const same = points.find((point) => point[0] === time)
    if (same) same[1] = value
    else points.push([time, value])
    if (points.length > SLICE_POINTS) series.slices.set(at, thinned(points))
  }

  /** Forgets what is older than the window, and what is further ahead than it is long. */
  trim(nowMs: number): void {
    const oldest = Math.floor((nowMs * 1000 - this.span) / this.slice) - 1
    const newest = Math.ceil((nowMs * 1000 + this.span) / this.slice)
    for (const series of this.byKey.values())
      for (const at of series.slices.keys()) if (at < oldest || at > newest) series.slices.delete(at)
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
      for (const [at, points] of series.slices) {
        const kept = points.filter((point) => !within(point[0]))
        if (kept.length === 0) series.slices.delete(at)
        else series.slices.set(at, kept)
      }
    }
  }

  /** All series, by metric and tags. */
  series(): LiveSeries[] {
    return [...this.byKey.values()].sort((a, b) => compare(a.metric, b.metric) || compare(a.key, b.key))
  }
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)

/** What tells a series from all others. */
export function keyOf(row: Pick<PointRows, 'sourceId' | 'metric' | 'kind' | 'tags'>): string {
  const tags = Object.keys(row.tags)
    .sort()
    .map((key) => [key, row.tags[key]])
  return JSON.stringify([row.sourceId, row.metric, row.kind, tags])
}

/** The first, the lowest, the highest and the last of points. */
function thinned(points: readonly Point[]): Point[] {
  let [first, last, low, high] = [points[0], points[0], points[0], points[0]] as [Point, Point, Point, Point]
  for (const point of points) {
    if (point[0] < first[0]) first = point
    if (point[0] > last[0]) last = point
    if (point[1] < low[1]) low = point
    if (point[1] > high[1]) high = point
  }
  return [...new Set([first, low, high, last])]
}

/**
 * A series as a line, with a gap wherever two points are further apart than `gap`
 * microseconds.
 */
export function liveLine(series: LiveSeries, label: string, gap = Infinity): Line {
  const points: Point[] = []
  for (const at of [...series.slices.keys()].sort((a, b) => a - b))
    points.push(...(series.slices.get(at) ?? []).toSorted((a, b) => a[0] - b[0]))
  const line: Line = { key: series.key, label, unit: series.unit, times: [], values: [] }
  let before = Infinity
  for (const [time, value] of points) {
    if (time - before > gap) {
      line.times.push((before + time) / 2)
      line.values.push(null)
    }
    line.times.push(time)
    line.values.push(value)
    before = time
  }
  return line
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
