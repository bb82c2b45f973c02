import { describe, expect, it } from 'vitest'

import { durationMs } from '@/ui/spans'

import {
  bounds,
  emptyExplore,
  type Explore,
  MAX_POINTS,
  paramsOf,
  problemsOf,
  queryText,
  readExplore,
  shift,
  widen,
  writeExplore,
} from './query'

const with_ = (change: Partial<Explore>): Explore => ({
  ...emptyExplore('UTC'),
  ...change,
})

const object = (e: Explore) => Object.fromEntries(paramsOf(e))

describe('the URL of the explorer', () => {
  it('omits default values', () => {
    expect(writeExplore(emptyExplore('UTC'), 'UTC').toString()).toBe('last=1h')
  })

  it('is unchanged after a round trip, including hostile names', () => {
    const e = with_({
      sourceIds: ['6f3b2c1e-8d7a-4f50-9b1c-0a2d4e6f8a90', 'b'],
      metrics: ['cpu,load', '<img src=x onerror=alert(1)>', 'a b&c=d'],
      tags: [
        ['room', 'cellar'],
        ['room', 'attic'],
        ['a=b&c', '%26'],
      ],
      range: { from: 1_700_000_000_000, to: 1_700_000_060_000 },
      zone: 'Europe/Berlin',
      mode: 'aggregated',
      aggregations: ['avg', 'p99'],
      interval: '5m',
      fill: '0',
      groupBy: ['metric', 'tag.room'],
      maxPoints: 250,
      offset: 50,
    })
    const text = writeExplore(e, 'UTC').toString()
    expect(readExplore(new URLSearchParams(text), 'UTC')).toEqual(e)
  })

  it('results in the defaults if it is invalid', () => {
    const text =
      'last=forever&from=9&to=3&zone=Mars/Olympus&mode=x&aggregation=evil&maxPoints=-1&offset=x&tag.='
    expect(readExplore(new URLSearchParams(text), 'UTC')).toEqual(emptyExplore('UTC'))
  })
})

describe('the parameters of a query', () => {
  it('contain the aggregation and the time zone', () => {
    expect(object(with_({ aggregations: ['avg', 'max'], zone: 'Europe/Berlin' }))).toEqual({
      from: '-1h',
      aggregation: 'avg,max',
      interval: 'auto',
      timezone: 'Europe/Berlin',
      fill: 'null',
      maxPoints: '500',
      limit: '50',
      pointsLimit: '100000',
    })
  })

  it('omit maxPoints with a fixed interval, because the server would refuse it', () => {
    const params = object(with_({ interval: '5m', maxPoints: 300 }))
    expect(params).not.toHaveProperty('maxPoints')
    expect(params['interval']).toBe('5m')
  })

  it('omit aggregation parameters for raw, thinned and latest points', () => {
    const groups = { groupBy: ['metric'] }
    for (const mode of ['raw', 'thinned', 'latest'] as const)
      for (const name of ['aggregation', 'interval', 'fill', 'groupBy', 'timezone'])
        expect(object(with_({ mode, ...groups }))).not.toHaveProperty(name)
    expect(object(with_({ mode: 'thinned' }))).toMatchObject({
      downsample: 'lttb',
      maxPoints: '500',
    })
    expect(object(with_({ mode: 'latest' }))).toEqual({
      latest: 'true',
      limit: '50',
    })
  })

  it('contain exact times in UTC', () => {
    const range = {
      from: Date.parse('2026-03-01T00:00:00Z'),
      to: Date.parse('2026-03-01T01:00:00Z'),
    }
    expect(object(with_({ mode: 'raw', range }))).toMatchObject({
      from: '2026-03-01T00:00:00.000Z',
      to: '2026-03-01T01:00:00.000Z',
    })
  })

  it('are URL-encoded', () => {
    expect(
      queryText([
        ['tag.a=b', 'c&d +'],
        ['metric', '°C'],
      ]),
    ).toBe('tag.a%3Db=c%26d%20%2B&metric=%C2%B0C')
  })
})

describe('the validation of a query', () => {
  it('reports the invalid field', () => {
    expect(problemsOf(emptyExplore('UTC'))).toEqual({})
    expect(problemsOf(with_({ aggregations: [] }))).toHaveProperty('aggregations')
    for (const interval of ['', '0s', '31d', '1w', '5', '-5m', '1.5h'])
      expect(problemsOf(with_({ interval }))).toHaveProperty('interval')
    for (const interval of ['auto', '1s', '30d', '90m']) expect(problemsOf(with_({ interval }))).toEqual({})
    for (const fill of ['', 'zero', 'NaN', '1,5', '01', '+1', '.5'])
      expect(problemsOf(with_({ fill }))).toHaveProperty('fill')
    for (const fill of ['none', 'linear', '0', '-1.5e3']) expect(problemsOf(with_({ fill }))).toEqual({})
    for (const maxPoints of [1, MAX_POINTS + 1])
      expect(problemsOf(with_({ maxPoints }))).toHaveProperty('maxPoints')
    expect(problemsOf(with_({ range: { from: 5, to: 5 } }))).toHaveProperty('range')
  })

  it('ignores fields that the mode does not use', () => {
    expect(problemsOf(with_({ mode: 'raw', interval: 'x', fill: 'x' }))).toEqual({})
  })
})

describe('ranges', () => {
  it('end now when they are relative', () => {
    expect(bounds({ last: '15m' }, 1_000_000)).toEqual({
      from: 100_000,
      to: 1_000_000,
    })
  })

  it('are shifted and widened, but not before 1970', () => {
    expect(shift({ from: 1000, to: 3000 }, -0.5, 0)).toEqual({
      from: 0,
      to: 2000,
    })
    expect(shift({ last: '1m' }, -1, 120_000)).toEqual({
      from: 0,
      to: 60_000,
    })
    expect(widen({ from: 4000, to: 6000 }, 2, 10_000)).toEqual({
      from: 3000,
      to: 7000,
    })
    expect(widen({ from: 0, to: 10_000 }, 4, 10_000)).toEqual({
      from: 0,
      to: 10_000,
    })
  })

  it('are parsed with their units', () => {
    expect(durationMs('90s')).toBe(90_000)
    expect(durationMs('2w')).toBe(1_209_600_000)
    for (const text of ['', '5', 'm', '0m', '-1m', '1y', '1.5h', '99999999999s'])
      expect(durationMs(text)).toBeUndefined()
  })
})
