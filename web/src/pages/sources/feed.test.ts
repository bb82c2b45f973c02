import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { ApiError, type StreamState } from '@/api'

import { Feed, withFallback } from './feed'
import type { PointRows } from './shapes'

const row = (time: number, value: number): PointRows => ({
  sourceId: 's',
  sourceName: 'boiler',
  metric: 'temperature',
  kind: 'number',
  unit: null,
  tags: {},
  columns: ['timestamp', 'value'],
  points: [[time, value]],
})

/** Returns the approximate size of a value: the number of characters, other primitives and objects. */
function sizeOf(value: unknown, seen = new Set<object>()): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 1
  if (seen.has(value)) return 0
  seen.add(value)
  const parts = value instanceof Map || value instanceof Set ? [...value].flat() : Object.values(value)
  return parts.reduce((sum: number, part) => sum + sizeOf(part, seen), 1)
}

const NOW = Date.parse('2026-11-21T10:00:00Z')

function open(history: () => Promise<PointRows[]> = () => Promise.resolve([])) {
  const streams: {
    send: (event: string, data: unknown) => void
    state: (s: StreamState) => void
    closed: boolean
  }[] = []
  const feed = new Feed({
    spanMs: 60_000,
    gapMs: undefined,
    history,
    subscribe: ({ onEvent, onState }) => {
      const stream = {
        send: (event: string, data: unknown) => onEvent({ event, data: JSON.stringify(data), id: '' }),
        state: (s: StreamState) => onState?.(s),
        closed: false,
      }
      streams.push(stream)
      return () => (stream.closed = true)
    },
  })
  return { feed, streams }
}

describe('a live feed', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: NOW })
    vi.stubGlobal('window', globalThis)
    vi.stubGlobal('document', { hidden: false })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  it('is open while it has listeners and releases all resources', () => {
    const { feed, streams } = open()
    expect(streams).toHaveLength(0)
    const [a, b] = [feed.listen(() => undefined), feed.listen(() => undefined)]
    expect(streams).toHaveLength(1)
    a()
    expect(streams[0]?.closed).toBe(false)
    b()
    expect(streams[0]?.closed).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
    feed.listen(() => undefined)()
    expect(streams).toHaveLength(2)
    expect(streams[1]?.closed).toBe(true)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('shows past and new points as one line and limits the update rate', async () => {
    const { feed, streams } = open(() => Promise.resolve([row((NOW - 2000) * 1000, 1)]))
    let shown = 0
    const close = feed.listen(() => shown++)
    await vi.advanceTimersByTimeAsync(0)
    for (let i = 0; i < 500; i++) streams[0]?.send('points', [row((NOW - 1000 + i) * 1000, i)])
    expect(shown).toBe(1)
    await vi.advanceTimersByTimeAsync(1000)
    expect(shown).toBeLessThanOrEqual(6)
    const [metric] = feed.snapshot().metrics
    expect(metric?.lines[0]?.values[0]).toBe(1)
    expect(metric?.lines[0]?.values.at(-1)).toBe(499)
    expect(feed.snapshot().rate).toBe(100)
    close()
  })

  it('queries the missed points when the stream cannot be resumed', async () => {
    const history = vi.fn(() => Promise.resolve([]))
    const { feed, streams } = open(history)
    const close = feed.listen(() => undefined)
    streams[0]?.send('reset', { reason: 'trimmed', message: 'It is gone.' })
    await vi.advanceTimersByTimeAsync(0)
    expect(history).toHaveBeenCalledTimes(2)
    expect(feed.snapshot().gap).toBe('It is gone.')
    close()
  })

  it('reports the state of the stream, and keeps its points', async () => {
    const { feed, streams } = open(() => Promise.resolve([row(NOW * 1000, 1)]))
    const close = feed.listen(() => undefined)
    await vi.advanceTimersByTimeAsync(0)
    streams[0]?.state({ status: 'waiting', delay: 1000, error: new ApiError(0, {}) })
    expect(feed.snapshot().stream.status).toBe('waiting')
    expect(feed.snapshot().metrics).toHaveLength(1)
    close()
  })

  it.each(['paused', 'hidden'])('keeps only the points of its window while it is %s', async (how) => {
    const { feed, streams } = open()
    const close = feed.listen(() => undefined)
    await vi.advanceTimersByTimeAsync(0)
    if (how === 'paused') feed.pause(true)
    else vi.stubGlobal('document', { hidden: true })
    for (let i = 0; i < 6 * 3600; i++) {
      await vi.advanceTimersByTimeAsync(1000)
      streams[0]?.send('points', [row(Date.now() * 1000, i)])
    }
    expect(sizeOf(feed)).toBeLessThan(30_000)
    vi.stubGlobal('document', { hidden: false })
    feed.pause(false)
    const line = feed.snapshot().metrics[0]?.lines[0]
    expect(line?.values.at(-1)).toBe(6 * 3600 - 1)
    expect(line?.times.length).toBeLessThanOrEqual(62)
    expect(feed.snapshot().rate).toBeCloseTo(1, 0)
    close()
  })

  it('pauses on request and shows all points after it resumes', async () => {
    const { feed, streams } = open()
    const close = feed.listen(() => undefined)
    await vi.advanceTimersByTimeAsync(0)
    feed.pause(true)
    streams[0]?.send('points', [row(NOW * 1000, 7)])
    await vi.advanceTimersByTimeAsync(2000)
    expect(feed.snapshot().metrics).toHaveLength(0)
    feed.pause(false)
    expect(feed.snapshot().metrics[0]?.latest?.value).toBe(7)
    close()
  })
})

describe('the fallback query', () => {
  it('runs only if the first query is too large', async () => {
    const refuse = (status: number) => () => Promise.reject(new ApiError(status, {}))
    const smaller = () => Promise.resolve('small')
    await expect(withFallback(refuse(422), smaller)).resolves.toBe('small')
    await expect(withFallback(refuse(503), smaller)).rejects.toThrow()
  })
})
