import { describe, expect, it } from 'vitest'
import { align, withGaps, byUnit, type Line, linesOf, namesOf, tablePage } from './lines'
import type { PointRows } from './shapes'

function row(change: Partial<PointRows>): PointRows {
  return {
    sourceId: 's1',
    sourceName: 'boiler',
    metric: 'temperature',
    kind: 'number',
    unit: '°C',
    tags: {},
    columns: ['timestamp', 'value'],
    points: [],
    ...change,
  }
}

describe('names of series', () => {
  it('contain only what differs', () => {
    expect(
      namesOf([
        row({ tags: { room: 'cellar', floor: '0' } }),
        row({ tags: { room: 'attic', floor: '0' } }),
        row({ tags: { floor: '0' } }),
      ]),
    ).toEqual(['room=cellar', 'room=attic', 'temperature'])
    expect(namesOf([row({}), row({ sourceId: 's2', sourceName: 'pump' })])).toEqual(['boiler', 'pump'])
  })

  it('are the metric for one series, and "all series" for a group of all series', () => {
    expect(namesOf([row({})])).toEqual(['temperature'])
    expect(namesOf([row({ sourceId: null, sourceName: null, metric: null })])).toEqual(['all series'])
  })
})

describe('lines', () => {
  it('are created for each numeric column', () => {
    const drawing = linesOf([
      row({
        columns: ['timestamp', 'avg', 'max'],
        points: [
          [1_000_000, 1, 2],
          [2_000_000, null, 4],
        ],
      }),
    ])
    expect(drawing.lines.map((line) => line.label)).toEqual(['temperature · avg', 'temperature · max'])
    expect(drawing.lines[0]?.values).toEqual([1, null])
    expect(drawing.lines[1]?.times).toEqual([1_000_000, 2_000_000])
  })

  it('omit text values but draw their count', () => {
    const texts = row({ kind: 'string', points: [[1, 'on']] })
    expect(linesOf([texts])).toMatchObject({ lines: [], texts: 1, points: 1 })
    const aggregated = row({
      kind: 'string',
      columns: ['timestamp', 'first', 'last'],
      points: [[1, 'off', 'on']],
    })
    expect(linesOf([aggregated])).toMatchObject({ lines: [], texts: 1, empty: 0 })
    const counted = row({
      kind: 'string',
      columns: ['timestamp', 'last', 'count'],
      points: [[1, 'on', 3]],
    })
    const drawing = linesOf([counted])
    expect(drawing.texts).toBe(0)
    expect(drawing.lines.map((line) => line.values)).toEqual([[3]])
    expect(drawing.lines[0]?.unit).toBeNull()
  })

  it('are omitted and counted if they have no value', () => {
    const drawing = linesOf([
      row({
        points: [
          [1, null],
          [2, null],
        ],
      }),
      row({ metric: 'pressure' }),
      row({ metric: 'flow', points: [[1, 1]] }),
    ])
    expect(drawing).toMatchObject({ empty: 2, points: 1 })
    expect(drawing.lines.map((line) => line.label)).toEqual(['flow'])
  })

  it('are numbered if they have the same name', () => {
    const points = [[1, 1]]
    const { lines } = linesOf([row({ points }), row({ points }), row({ points })])
    expect(lines.map((line) => line.label)).toEqual(['temperature', 'temperature (2)', 'temperature (3)'])
  })

  it('are limited in number, and the others are counted', () => {
    const rows = Array.from({ length: 10 }, (_, i) =>
      row({ sourceId: String(i), sourceName: String(i), points: [[1, i]] }),
    )
    const drawing = linesOf(rows, 4)
    expect(drawing.lines).toHaveLength(4)
    expect(drawing.more).toBe(6)
  })
})

describe('gaps', () => {
  const S = 1_000_000
  const line = (times: number[]): Line => ({
    key: 'k',
    label: 'l',
    unit: null,
    times,
    values: times.map(() => 1),
  })
  const gaps = (l: Line) => l.times.filter((_, i) => l.values[i] === null)

  it('are drawn where timestamps are further apart than usual', () => {
    const seconds = Array.from({ length: 100 }, (_, i) => (i < 50 ? i : i + 60) * S)
    expect(gaps(withGaps(line(seconds)))).toEqual([(49 + 110) * 0.5 * S])
    const uneven = Array.from({ length: 200 }, (_, i) => (i * 10 + ((i * 7) % 9)) * S)
    expect(gaps(withGaps(line(uneven)))).toEqual([])
    // Too few points have no gap. Less than two seconds are never a gap.
    expect(gaps(withGaps(line([0, S, 90 * S])))).toEqual([])
    expect(gaps(withGaps(line([0, 1000, 2000, 3000, 4000, 1_500_000])))).toEqual([])
  })

  it('are drawn where an interval has no row', () => {
    const points = [0, 5, 10, 30, 35].map((s) => [s * S, 1])
    const [drawn] = linesOf([row({ columns: ['timestamp', 'avg'], points })], 10, 7.5 * S).lines
    expect(drawn?.values).toEqual([1, 1, 1, null, 1, 1])
  })

  it('keep their length regardless of the rows of other lines', () => {
    const whole = line([0, 1, 2, 3, 4, 5, 6, 7, 8].map((s) => s * S))
    const torn: Line = { ...line([0, 1, 4.5, 8].map((s) => s * S)), values: [1, 1, null, 1] }
    const [times, , values] = align([whole, torn])
    expect(times).toEqual([0, 1, 2, 3, 4, 4.5, 5, 6, 7, 8])
    expect(values).toEqual([1, 1, null, null, null, null, null, null, null, 1])
  })
})

describe('alignment', () => {
  it('merges the timestamps of all lines and keeps gaps', () => {
    expect(
      align([
        { times: [1e6, 3e6], values: [1, 3] },
        { times: [2e6, 3e6, 4e6], values: [20, null, 40] },
      ]),
    ).toEqual([
      [1, 2, 3, 4],
      [1, undefined, 3, undefined],
      [undefined, 20, null, 40],
    ])
  })

  it('does not copy lines with the same timestamps', () => {
    const values = [1, null]
    const aligned = align([
      { times: [1e6, 2e6], values },
      { times: [1e6, 2e6], values: [5, 6] },
    ])
    expect(aligned[0]).toEqual([1, 2])
    expect(aligned[1]).toBe(values)
  })

  it('is empty without points', () => {
    expect(align([])).toEqual([[]])
    expect(align([{ times: [], values: [] }])).toEqual([[], []])
  })

  it('handles fifty series of two thousand points each', () => {
    const lines = Array.from({ length: 50 }, (_, i) => ({
      times: Array.from({ length: 2000 }, (_, at) => at * 1e6 + i),
      values: Array.from({ length: 2000 }, (_, at) => at),
    }))
    const [times, ...values] = align(lines)
    expect(times).toHaveLength(100_000)
    expect(values.every((v) => v.length === 100_000)).toBe(true)
  })
})

describe('the table', () => {
  const rows = [
    row({
      points: [
        [1, 1],
        [2, 2],
        [3, 3],
      ],
    }),
    row({
      sourceId: 's2',
      sourceName: 'pump',
      points: [
        [5, 5],
        [6, 6],
      ],
    }),
  ]

  it('lists the points of each series newest first, by page', () => {
    const all = [0, 2, 4].flatMap((offset) => tablePage(rows, offset, 2))
    expect(all.map((r) => [r.series, r.time])).toEqual([
      ['boiler', 3],
      ['boiler', 2],
      ['boiler', 1],
      ['pump', 6],
      ['pump', 5],
    ])
    expect(new Set(all.map((r) => r.key)).size).toBe(5)
  })
})

describe('units', () => {
  it('have one chart each', () => {
    const points = [[1, 1]]
    const { lines } = linesOf([
      row({ points }),
      row({ points, metric: 'pressure', unit: 'bar' }),
      row({ points, metric: 'flow', unit: '°C' }),
      row({ points, metric: 'state', unit: null }),
    ])
    expect(byUnit(lines).map((group) => [group.unit, group.lines.length])).toEqual([
      ['°C', 2],
      ['bar', 1],
      [null, 1],
    ])
    expect(byUnit([])).toEqual([])
  })
})
