import { describe, expect, it } from 'vitest'
import {
  emptyReplay,
  refetchInterval,
  percentText,
  readOffsets,
  readPartitions,
  type ReplayDraft,
  replayRequest,
} from './replays'
import type { Replay } from './shapes'

const now = Date.parse('2026-11-21T12:00:00Z')
const asked = (change: Partial<ReplayDraft>, zone = 'UTC') =>
  replayRequest({ ...emptyReplay(), ...change }, zone, now)

describe('a replay request', () => {
  it('reads the whole log by default', () => {
    expect(asked({})).toEqual({ request: { topic: 'points', fromStart: true }, problems: {} })
  })

  it('uses times in the selected time zone', () => {
    const { request, problems } = asked(
      { from: 'time', fromTime: '2026-11-21T10:00', to: 'time', toTime: '2026-11-21T11:00' },
      'Europe/Berlin',
    )
    expect(problems).toEqual({})
    expect(request).toEqual({
      topic: 'points',
      fromTime: '2026-11-21T09:00:00.000Z',
      toTime: '2026-11-21T10:00:00.000Z',
    })
  })

  it('contains offsets, partitions, a workspace and a rate', () => {
    expect(
      asked({ from: 'offsets', fromOffsets: '0: 5\n1=7', to: 'offsets', toOffsets: '0:9', partitions: '0' })
        .request,
    ).toEqual({
      topic: 'points',
      fromOffsets: { 0: 5, 1: 7 },
      toOffsets: { 0: 9 },
    })
    expect(asked({ partitions: '2-4, 0', workspaceId: 'w', maxRows: '1000' }).request).toEqual({
      topic: 'points',
      fromStart: true,
      partitions: [0, 2, 3, 4],
      workspaceId: 'w',
      maxRowsPerSecond: 1000,
    })
  })

  it('reports the invalid field', () => {
    const bad: [keyof ReplayDraft, Partial<ReplayDraft>][] = [
      ['fromTime', { from: 'time' }],
      ['fromTime', { from: 'time', fromTime: '2026-11-21T13:00' }],
      ['toTime', { to: 'time', toTime: 'x' }],
      ['toTime', { from: 'time', fromTime: '2026-11-21T11:00', to: 'time', toTime: '2026-11-21T11:00' }],
      ['fromOffsets', { from: 'offsets' }],
      ['toOffsets', { to: 'offsets', toOffsets: 'x' }],
      ['partitions', { partitions: 'all' }],
      ['maxRows', { maxRows: '0' }],
      ['maxRows', { maxRows: '1.5' }],
    ]
    for (const [field, change] of bad)
      expect(Object.keys(asked(change).problems), JSON.stringify(change)).toEqual([field])
  })
})

describe('lists of partitions and offsets', () => {
  it('are parsed, or refused as a whole', () => {
    expect(readPartitions('')).toEqual([])
    expect(readPartitions('3 1,1')).toEqual([1, 3])
    for (const text of ['x', '1-', '4-2', '-1', '0-999999']) expect(readPartitions(text)).toBeUndefined()
    expect(readOffsets('0:1, 1:2,')).toEqual({ 0: 1, 1: 2 })
    for (const text of ['0', '0:', '0:1,0:2', '0:x', '0:1:2']) expect(readOffsets(text)).toBeUndefined()
  })
})

describe('progress', () => {
  it('is 100 percent only at the end', () => {
    expect(percentText({ percent: 100, state: 'running' })).toBe('99 %')
    expect(percentText({ percent: 100, state: 'done' })).toBe('100 %')
    expect(percentText({ percent: 0.44, state: 'running' })).toBe('0.4 %')
    expect(percentText({ percent: 0.01, state: 'running' })).toBe('under 0.1 %')
    expect(percentText({ percent: 0, state: 'queued' })).toBe('0 %')
  })

  it('is refetched more often while a replay is running', () => {
    const replay = (state: Replay['state']) => ({ state }) as Replay
    expect(refetchInterval([replay('done'), replay('running')])).toBe(1000)
    expect(refetchInterval([replay('done'), replay('failed')])).toBe(10_000)
    expect(refetchInterval(undefined)).toBe(10_000)
  })
})
