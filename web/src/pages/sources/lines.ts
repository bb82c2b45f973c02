/**
 * What an answer of points looks like as lines of a chart and rows of a table.
 * Times are microseconds since the Unix epoch, as `epoch=us` returns them.
 */
import type { Cell, PointRows } from './shapes'

/** One line: a column of one series. Times ascend. */
export interface Line {
  key: string
  label: string
  unit: string | null
  times: number[]
  /** null: there is a row, and no value. */
  values: (number | null)[]
}

/** The maximum number of lines of a chart: more cannot be distinguished. */
export const MAX_LINES = 60

export interface Drawing {
  lines: Line[]
  /** Lines that there are and that are not drawn. */
  more: number
  /** Series of texts, which have no line. */
  texts: number
  /** Series without a point in the range. */
  empty: number
  points: number
}

/** What a series is called: what all of its kind have in common is left out. */
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

/** The lines of an answer, at most so many, broken where rows are further apart than a gap in microseconds. */
export function linesOf(rows: readonly PointRows[], most: number = MAX_LINES, gap?: number): Drawing {
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
    // Filled intervals are rows, but no points.
    const empty = lines.length === 0 && columns.length > 0
    if (empty) drawing.empty++
    else drawing.points += row.points.length
    const room = most - drawing.lines.length
    drawing.lines.push(...lines.slice(0, room).map((line) => broken(line, gap)))
    drawing.more += Math.max(0, lines.length - room)
  })
  distinguish(drawing.lines)
  return drawing
}

/** Lines of the same name are numbered, so that each can be identified and selected. */
function distinguish(lines: Line[]): void {
  const seen = new Map<string, number>()
  for (const line of lines) {
    const count = (seen.get(line.label) ?? 0) + 1
    seen.set(line.label, count)
    if (count > 1) line.label += ` (${count})`
  }
}

/** Reports whether a column of a series holds texts. */
function isText(row: PointRows, column: number): boolean {
  const name = row.columns[column]
  return row.kind === 'string' && (name === 'value' || name === 'first' || name === 'last')
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

/** Times further apart than so many of what is usual are a gap. */
const GAP_FACTOR = 3
/** Microseconds that are never a gap by themselves. */
const MIN_GAP = 2_000_000

/** Returns the minimum distance of two times that counts as a gap: three times the 90th percentile. 0: too few points. */
export function usualGap(times: readonly number[]): number {
  if (times.length < 4) return 0
  const apart = Float64Array.from(times.slice(1), (time, i) => time - (times[i] ?? time)).sort()
  const usual = apart[Math.floor((apart.length - 1) * 0.9)] ?? 0
  return Math.max(usual * GAP_FACTOR, MIN_GAP)
}

/** A line that breaks wherever two times are further apart than `gap` microseconds; undefined: than is usual for it. */
export function broken(line: Line, gap: number = usualGap(line.times) || Infinity): Line {
  const { times, values } = line
  if (!times.some((time, i) => i > 0 && time - (times[i - 1] ?? time) > gap)) return line
  const torn: Line = { ...line, times: [], values: [] }
  times.forEach((time, i) => {
    const before = times[i - 1]
    if (before !== undefined && time - before > gap) {
      torn.times.push((before + time) / 2)
      torn.values.push(null)
    }
    torn.times.push(time)
    torn.values.push(values[i] ?? null)
  })
  return torn
}

/**
 * Lines over the times of all of them together: the first array is the times in
 * seconds, and each other the values of a line. Where a line has no row at a time it
 * has `undefined`, over which it is drawn through; `null` is a gap, and so is whatever
 * is beside one: a chart breaks a line from the time before a null to the time after it,
 * which may be another line's.
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
        const torn = next > 0 && next < line.times.length
        return torn && (line.values[next - 1] === null || line.values[next] === null) ? null : undefined
      })
    }),
  ]
}

/** Lines as a chart takes them. */
export function drawn(lines: readonly Line[]): {
  times: number[]
  series: { label: string; values: (number | null | undefined)[] }[]
} {
  const [times, ...values] = align(lines)
  return { times, series: lines.map((line, i) => ({ label: line.label, values: values[i] ?? [] })) }
}

function sameTimes(a: readonly number[], b: readonly number[]): boolean {
  return a === b || (a.length === b.length && a.every((at, i) => at === b[i]))
}

/** The different times of ascending lists, ascending. */
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

/**
 * The rows of a page of the table: those of all series one after another, each from
 * its newest point on.
 */
export function tablePage(rows: readonly PointRows[], offset: number, limit: number): TableRow[] {
  const names = namesOf(rows)
  const page: TableRow[] = []
  let passed = 0
  for (const [at, row] of rows.entries()) {
    const count = row.points.length
    const from = Math.max(0, offset - passed)
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
    passed += count
    if (page.length >= limit) break
  }
  return page
}

/** Lines by their unit, in the order in which units come first: values of different units are no matter of one axis. */
export function byUnit(lines: readonly Line[]): { unit: string | null; lines: Line[] }[] {
  const groups = new Map<string | null, Line[]>()
  for (const line of lines) {
    const group = groups.get(line.unit)
    if (group) group.push(line)
    else groups.set(line.unit, [line])
  }
  return [...groups].map(([unit, group]) => ({ unit, lines: group }))
}
