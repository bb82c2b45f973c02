import { describe, expect, it } from 'vitest'
import { liveLine, LiveWindow, MAX_LIVE_SERIES, tagNames } from './live'
import type { Cell, PointRows } from './shapes'

const row = (points: Cell[][], change: Partial<PointRows> = {}): PointRows => ({
  sourceId: 's',
  sourceName: 'boiler',
  metric: 'temperature',
  kind: 'number',
  unit: '°C',
  tags: {},
  columns: ['timestamp', 'value'],
  points,
  ...change,
})

const S = 1_000_000
/** In milliseconds; the points of these tests are in the first minute. */
const NOW = 60_000

function only(w: LiveWindow) {
  const [series] = w.series()
  if (!series) throw new Error('there is no series')
  return series
}

describe('a window of live points', () => {
  it('sorts points by time regardless of the order of arrival', () => {
    const w = new LiveWindow(60_000)
    w.add([row([[3 * S, 3]]), row([[1 * S, 1]])], NOW)
    w.add([row([[2 * S, 2]])], NOW)
    expect(liveLine(only(w), 'a')).toMatchObject({ times: [1 * S, 2 * S, 3 * S], values: [1, 2, 3] })
  })

  it('keeps the last value of a duplicate timestamp', () => {
    const w = new LiveWindow(60_000)
    w.add(
      [
        row([
          [S, 1],
          [S, 2],
        ]),
      ],
      NOW,
    )
    w.add([row([[S, 3]])], NOW)
    expect(liveLine(only(w), 'a').values).toEqual([3])
    expect(only(w).latest).toEqual({ time: S, value: 3 })
  })

  it('downsamples many points to a bounded number and keeps extreme values', () => {
    const w = new LiveWindow(60_000, 600)
    for (let second = 0; second < 60; second++) {
      const points: Cell[][] = []
      for (let i = 0; i < 2000; i++)
        points.push([second * S + i * 500, i === 777 ? 1e6 : i === 778 ? -1e6 : i])
      w.add([row(points)], NOW)
    }
    const line = liveLine(only(w), 'a')
    expect(line.times.length).toBeLessThanOrEqual(600 * 16 + 16)
    expect(line.values.filter((v) => v === 1e6)).toHaveLength(60)
    expect(line.values.filter((v) => v === -1e6)).toHaveLength(60)
    expect(line.times[0]).toBe(0)
    expect(line.times.at(-1)).toBe(59 * S + 1999 * 500)
  })

  it('removes points that have left the window', () => {
    const w = new LiveWindow(60_000)
    w.add(
      [
        row([
          [0, 1],
          [100 * S, 2],
        ]),
      ],
      NOW,
    )
    w.trim(120_000)
    expect(liveLine(only(w), 'a').times).toEqual([100 * S])
    w.trim(10_000_000)
    expect(liveLine(only(w), 'a').times).toEqual([])
    expect(only(w).latest?.value).toBe(2)
  })

  it('limits the number of series and counts the others', () => {
    const w = new LiveWindow(60_000)
    for (let i = 0; i < MAX_LIVE_SERIES + 3; i++) w.add([row([[S, i]], { tags: { n: String(i) } })], NOW)
    expect(w.series()).toHaveLength(MAX_LIVE_SERIES)
    expect(w.more).toBe(3)
  })

  it('keeps only the latest value of a text series', () => {
    const w = new LiveWindow(60_000)
    w.add(
      [
        row(
          [
            [S, 'off'],
            [2 * S, 'on'],
          ],
          { kind: 'string' },
        ),
      ],
      NOW,
    )
    expect(only(w).latest).toEqual({ time: 2 * S, value: 'on' })
    expect(liveLine(only(w), 'a').times).toEqual([])
  })

  it('removes only deleted points', () => {
    const w = new LiveWindow(60_000)
    w.add(
      [
        row([
          [1 * S, 1],
          [2 * S, 2],
          [3 * S, 3],
        ]),
        row([[2 * S, 9]], { metric: 'pressure' }),
      ],
      NOW,
    )
    w.remove({ sourceId: 'other', metric: null, from: null, to: null, wholeSource: true })
    w.remove({ sourceId: 's', metric: 'temperature', from: 2 * S, to: 3 * S, wholeSource: false })
    const [pressure, temperature] = w.series()
    if (!pressure || !temperature) throw new Error('series are missing')
    expect(liveLine(pressure, 'a').values).toEqual([9])
    expect(liveLine(temperature, 'a').values).toEqual([1, 3])
    w.remove({ sourceId: 's', metric: null, from: null, to: null, wholeSource: true })
    expect(liveLine(temperature, 'a').values).toEqual([])
    expect(temperature.latest).toBeNull()
  })

  it('draws a gap where no points arrived', () => {
    const w = new LiveWindow(60_000)
    w.add(
      [
        row([
          [1 * S, 1],
          [2 * S, 2],
          [20 * S, 3],
        ]),
      ],
      NOW,
    )
    expect(liveLine(only(w), 'a', 5 * S).values).toEqual([1, 2, null, 3])
    expect(liveLine(only(w), 'a').values).toEqual([1, 2, 3])
  })

  it('draws no gap where points were downsampled', () => {
    const w = new LiveWindow(60_000)
    w.add([row(Array.from({ length: 10 }, (_, i) => [6 * i * S, i]))], NOW)
    expect(liveLine(only(w), 'a', 3 * S).values).not.toContain(null)
  })

  it('keeps a bounded number of points over a week', () => {
    const w = new LiveWindow(60_000)
    const week = 7 * 86_400
    for (let second = 0; second < week; second += 5) w.add([row([[second * S, second]])], second * 1000)
    // There was no read in between, so nothing was trimmed.
    expect(liveLine(only(w), 'a').times.length).toBeLessThanOrEqual(2 * 600 + 4)
    w.trim(week * 1000)
    expect(liveLine(only(w), 'a').times.length).toBeLessThanOrEqual(13)
    expect(liveLine(only(w), 'a').times.at(-1)).toBe((week - 5) * S)
  })

  it('ignores points outside the window', () => {
    const w = new LiveWindow(60_000)
    const points: Cell[][] = Array.from({ length: 50_000 }, (_, i) => [i * 60 * S, i])
    w.add([row(points)], 86_400_000)
    expect(liveLine(only(w), 'a').times.length).toBeLessThanOrEqual(3)
    expect(only(w).latest?.value).toBe(49_999)
  })
})

describe('the names of series of one metric', () => {
  it('are the tags that differ', () => {
    const w = new LiveWindow(60_000)
    w.add(
      [row([[S, 1]], { tags: { core: '0', host: 'a' } }), row([[S, 1]], { tags: { core: '1', host: 'a' } })],
      NOW,
    )
    expect(tagNames(w.series())).toEqual(['core=0', 'core=1'])
    expect(tagNames(w.series().slice(0, 1))).toEqual(['temperature'])
  })
})
