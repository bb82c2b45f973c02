// The series of a node's sources with their newest values and trends.

type Cell = string | number | null

/** A series as the query of points returns it. */
export interface PointRows {
  sourceId: string | null
  sourceName: string | null
  metric: string | null
  unit: string | null
  tags: Record<string, string>
  columns: string[]
  points: Cell[][]
}

export interface SeriesLine {
  key: string
  /** The metric and the tag values. */
  name: string
  unit: string | null
  value: number | string | null
  /** Oldest first; null where there is no value. */
  trend: (number | null)[]
}

function keyOf(rows: PointRows): string {
  const tags = Object.entries(rows.tags).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify([rows.sourceId, rows.metric, tags])
}

/** Joins newest values and trends of the last minutes by source; numeric series first. */
export function linesBySource(
  newest: readonly PointRows[],
  lines: readonly PointRows[],
): Map<string, SeriesLine[]> {
  const trends = new Map(lines.map((rows) => [keyOf(rows), rows.points.map(lastNumber)]))
  const by = new Map<string, SeriesLine[]>()
  for (const rows of newest) {
    const key = keyOf(rows)
    const value = rows.points.at(-1)?.at(-1) ?? null
    const name = [rows.metric ?? '', ...Object.values(rows.tags)].filter(Boolean).join(' · ')
    const line = { key, name, unit: rows.unit, value, trend: trends.get(key) ?? [] }
    const list = by.get(rows.sourceId ?? '')
    if (list) list.push(line)
    else by.set(rows.sourceId ?? '', [line])
  }
  for (const list of by.values())
    list.sort((a, b) => Number(typeof b.value === 'number') - Number(typeof a.value === 'number'))
  return by
}

function lastNumber(row: Cell[]): number | null {
  const value = row.at(-1)
  return typeof value === 'number' ? value : null
}
