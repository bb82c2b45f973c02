/**
 * Converts responses of points to chart lines and table rows. Times are microseconds since the Unix epoch, as
 * `epoch=us` returns them.
 */
import { holdsValues } from './query'
import type { Cell, PointRows } from './shapes'

/** A line: a column of one series. Times are ascending. */
export interface Line {
  key: string
  label: string
  unit: string | null
  times: number[]
  /** null: the row has no value. */
  values: (number | null)[]
}

/** The maximum number of lines of a chart: more cannot be distinguished. */
export const MAX_LINES = 60

export interface Drawing {
  lines: Line[]
  /** The number of lines that are not drawn. */
  more: number
  /** The number of string series, which have no line. */
  texts: number
  /** The number of series without a point in the range. */
  empty: number
  points: number
}

/** Returns the names of series. Parts that all have in common are omitted. */
export function namesOf(rows: readonly PointRows[]): string[] {
  const differs = (of: (row: PointRows) => string | null) => new Set(rows.map(of)).size > 1
  const keys = [...new Set(rows.flatMap((row) => Object.keys(row.tags)))].sort()
  const shownTags = keys.filter((key) => differs((row) => row.tags[key] ?? null))
  const showSource = differs((row) => row.sourceId)
  const showMetric = differs((row) => row.metric)
  return rows.map((row) => {
    const parts: string[] = []
    if (showSource && row.sourceName !== null) parts.push(row.sourceName)
    if (showMetric && row.metric !== null) parts.push(row.metric)
    for (const key of shownTags) {
      const value = row.tags[key]
      if (value !== undefined) parts.push(`${key}=${value}`)
    }
    if (parts.length > 0) return parts.join(' · ')
    return row.metric ?? row.sourceName ?? 'all series'
  })
}

/**
 * Returns the lines of a response, at most `maxLines`, with a break where rows are further apart than `gap`
 * microseconds.
 */
export function linesOf(rows: readonly PointRows[], maxLines: number = MAX_LINES, gap?: number): Drawing {
  const drawing: Drawing = { lines: [], more: 0, texts: 0, empty: 0, points: 0 }
  const names = namesOf(rows)
  rows.forEach((row, at) => {
    const columns = row.columns
      .map((_, column) => column)
      .filter((column) => column > 0 && !isText(row, column))
    if (columns.length === 0) drawing.texts++
    const lines = columns
      .map((column) => lineOf(row, at, column, names[at] ?? ''))
      .filter((line) => line.values.some((value) => value !== null))
    // Filled intervals are rows without points.
    const empty = lines.length === 0 && columns.length > 0
    if (empty) drawing.empty++
    else drawing.points += row.points.length
    const room = maxLines - drawing.lines.length
    drawing.lines.push(...lines.slice(0, room).map((line) => withGaps(line, gap)))
    drawing.more += Math.max(0, lines.length - room)
  })
  distinguish(drawing.lines)
  return drawing
}

/** Numbers lines of the same name, so that each can be identified and selected. */
function distinguish(lines: Line[]): void {
  const seen = new Map<string, number>()
  for (const line of lines) {
    const count = (seen.get(line.label) ?? 0) + 1
    seen.set(line.label, count)
    if (count > 1) line.label += ` (${count})`
  }
}

/** Reports whether a column of a series holds strings. */
function isText(row: PointRows, column: number): boolean {
  return row.kind === 'string' && holdsValues(row.columns[column] ?? '')
}

function lineOf(row: PointRows, at: number, column: number, name: string): Line {
  const columnName = row.columns[column] ?? ''
  const several = row.columns.length > 2
  const line: Line = {
    key: `${at}/${columnName}`,
    label: several ? `${name} · ${columnName}` : name,
    unit: columnName === 'count' ? null : row.unit,
    times: new Array<number>(row.points.length),
    values: new Array<number | null>(row.points.length),
  }
  row.points.forEach((point, i) => {
    const value = point[column]
    line.times[i] = Number(point[0])
    line.values[i] = typeof value === 'number' ? value : null
  })
  return line
}

/** A distance of more than this multiple of the usual distance is a gap. */
const GAP_FACTOR = 3
/** A distance below this, in microseconds, is never a gap. */
const MIN_GAP = 2_000_000

/**
 * Returns the minimum distance of two times that counts as a gap: three times the 90th percentile. 0 if there are too
 * few points.
 */
export function gapThreshold(times: readonly number[]): number {
  if (times.length < 4) return 0
  const distances = Float64Array.from(times.slice(1), (time, i) => time - (times[i] ?? time)).sort()
  const percentile90 = distances[Math.floor((distances.length - 1) * 0.9)] ?? 0
  return Math.max(percentile90 * GAP_FACTOR, MIN_GAP)
}

/**
 * Breaks a line wherever two times are further apart than `gap` microseconds; by default the threshold is derived from
 * the line.
 */
export function withGaps(line: Line, gap: number = gapThreshold(line.times) || Infinity): Line {
  const { times, values } = line
  if (!times.some((time, i) => i > 0 && time - (times[i - 1] ?? time) > gap)) return line
  const isGap: Line = { ...line, times: [], values: [] }
  times.forEach((time, i) => {
    const before = times[i - 1]
    if (before !== undefined && time - before > gap) {
      isGap.times.push((before + time) / 2)
      isGap.values.push(null)
    }
    isGap.times.push(time)
    isGap.values.push(values[i] ?? null)
  })
  return isGap
}

/**
 * Lines over the union of their times: the first array contains the times in seconds, the others the values of a line.
 * Where a line has no row the value is `undefined`, and the line is drawn through; `null` is a gap. The times next to
 * a gap are null as well: a chart breaks a line from the time before a null to the time after it, which may belong to
 * another line.
 */
export type Aligned = [number[], ...(number | null | undefined)[][]]

export function align(lines: readonly Pick<Line, 'times' | 'values'>[]): Aligned {
  const first = lines[0]
  if (!first) return [[]]
  const same = lines.every((line) => sameTimes(line.times, first.times))
  const times = same ? first.times : unionOf(lines.map((line) => line.times))
  const seconds = times.map((us) => us / 1e6)
  if (same) return [seconds, ...lines.map((line) => line.values)]
  return [
    seconds,
    ...lines.map((line) => {
      let next = 0
      return times.map((at) => {
        if (line.times[next] === at) return line.values[next++]
        const isGap = next > 0 && next < line.times.length
        return isGap && (line.values[next - 1] === null || line.values[next] === null) ? null : undefined
      })
    }),
  ]
}

/** Returns lines in the format of a chart. */
export function chartData(lines: readonly Line[]): {
  times: number[]
  series: { label: string; values: (number | null | undefined)[] }[]
} {
  const [times, ...values] = align(lines)
  return { times, series: lines.map((line, i) => ({ label: line.label, values: values[i] ?? [] })) }
}

function sameTimes(a: readonly number[], b: readonly number[]): boolean {
  return a === b || (a.length === b.length && a.every((at, i) => at === b[i]))
}

/** Merges ascending lists into one without duplicates. */
function unionOf(lists: readonly (readonly number[])[]): number[] {
  const all = new Float64Array(lists.reduce((sum, list) => sum + list.length, 0))
  let at = 0
  for (const list of lists) {
    all.set(list, at)
    at += list.length
  }
  all.sort()
  return Array.from(all.filter((time, i) => i === 0 || time !== all[i - 1]))
}

// ------------------------------------------------------------------ table

export interface TableRow {
  key: string
  time: number
  series: string
  row: PointRows
  values: Cell[]
}

/** Returns the rows of a table page: the series one after another, each from its newest point. */
export function tablePage(rows: readonly PointRows[], offset: number, limit: number): TableRow[] {
  const names = namesOf(rows)
  const page: TableRow[] = []
  let skipped = 0
  for (const [at, row] of rows.entries()) {
    const count = row.points.length
    const from = Math.max(0, offset - skipped)
    for (let i = from; i < count && page.length < limit; i++) {
      const point = row.points[count - 1 - i]
      if (!point) continue
      page.push({
        key: `${at}/${count - 1 - i}`,
        time: Number(point[0]),
        series: names[at] ?? '',
        row,
        values: point.slice(1),
      })
    }
    skipped += count
    if (page.length >= limit) break
  }
  return page
}

/** Groups lines by unit, in the order of first appearance: values of different units do not share an axis. */
export function byUnit(lines: readonly Line[]): { unit: string | null; lines: Line[] }[] {
  const groups = new Map<string | null, Line[]>()
  for (const line of lines) {
    const group = groups.get(line.unit)
    if (group) group.push(line)
    else groups.set(line.unit, [line])
  }
  return [...groups].map(([unit, group]) => ({ unit, lines: group }))
}
