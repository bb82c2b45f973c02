import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { ApiError } from './client'
import { backoff, subscribe, isRetryable, type ServerEvent, type StreamState } from './events'

describe('backoff', () => {
  it('doubles from one second to 30 seconds, with jitter', () => {
    expect(backoff(0, 0, () => 1)).toBe(1000)
    expect(backoff(0, 0, () => 0)).toBe(500)
    expect(backoff(3, 0, () => 1)).toBe(8000)
    expect(backoff(50, 0, () => 1)).toBe(30_000)
  })
  it('is at least the delay that the server requests', () => expect(backoff(0, 5000, () => 0)).toBe(5000))
})

it('retries only errors that may be temporary', () => {
  expect([0, 200, 429, 500, 503].map((status) => isRetryable(new ApiError(status, {})))).toEqual(
    Array(5).fill(true),
  )
  expect([400, 401, 403, 404].map((status) => isRetryable(new ApiError(status, {})))).toEqual(
    Array(4).fill(false),
  )
})

describe('a stream', () => {
  const requests: Headers[] = []
  let answers: ((signal: AbortSignal | null | undefined) => Response)[] = []

  beforeEach(() => {
    vi.useFakeTimers()
    vi.stubGlobal('window', globalThis)
    requests.length = 0
    vi.stubGlobal('fetch', (_: string, init: RequestInit) => {
      requests.push(new Headers(init.headers))
      const answer = answers.shift()
      if (answer) return Promise.resolve(answer(init.signal))
      return new Promise((_resolve, reject) => {
        init.signal?.addEventListener('abort', () => reject(new DOMException('gone', 'AbortError')))
      })
    })
  })
  afterEach(() => {
    vi.useRealTimers()
    vi.unstubAllGlobals()
  })

  const text = (body: string) => () =>
    new Response(body, { headers: { 'Content-Type': 'text/event-stream' } })
  const problem =
    (status: number, headers: Record<string, string> = {}) =>
    () =>
      new Response(JSON.stringify({ success: false, error: { code: 'X', message: 'no' } }), {
        status,
        headers,
      })

  it('resumes after the last received event', async () => {
    answers = [text('id: 5\ndata: a\n\nid: 6\ndata: b\n\nid: 7\ndata: cut'), text('id: 7\ndata: c\n\n')]
    const events: ServerEvent[] = []
    const stop = subscribe('/queries/events', { workspace: 'w', onEvent: (e) => events.push(e) })
    await vi.advanceTimersByTimeAsync(3000)
    await vi.advanceTimersByTimeAsync(3000)
    stop()
    expect(events.map((e) => e.data)).toEqual(['a', 'b', 'c'])
    expect(requests.map((h) => h.get('Last-Event-ID')).slice(0, 2)).toEqual([null, '6'])
    expect(requests[0]?.get('X-Workspace-Id')).toBe('w')
  })

  it('waits for the Retry-After delay and reports the error', async () => {
    answers = [problem(503, { 'Retry-After': '20' }), text('data: a\n\n')]
    const states: StreamState[] = []
    const stop = subscribe('/x', { onEvent: () => undefined, onState: (s) => states.push(s) })
    await vi.advanceTimersByTimeAsync(19_000)
    expect(requests).toHaveLength(1)
    expect(states.at(-1)).toMatchObject({ status: 'waiting', delay: 20_000, error: { status: 503 } })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(requests.length).toBeGreaterThan(1)
    stop()
  })

  it('stops after errors that a retry cannot fix', async () => {
    answers = [problem(404)]
    const states: StreamState[] = []
    const stop = subscribe('/x', { onEvent: () => undefined, onState: (s) => states.push(s) })
    await vi.advanceTimersByTimeAsync(120_000)
    expect(requests).toHaveLength(1)
    expect(states.at(-1)).toMatchObject({ status: 'failed' })
    stop()
  })

  it('reconnects when the connection is idle for too long', async () => {
    answers = [
      (signal) =>
        new Response(
          new ReadableStream({
            start: (body) =>
              signal?.addEventListener('abort', () => body.error(new DOMException('gone', 'AbortError'))),
          }),
        ),
    ]
    const states: StreamState[] = []
    const stop = subscribe('/x', { onEvent: () => undefined, onState: (s) => states.push(s) })
    await vi.advanceTimersByTimeAsync(44_000)
    expect(states.at(-1)?.status).toBe('open')
    await vi.advanceTimersByTimeAsync(3_000)
    expect(requests.length).toBeGreaterThan(1)
    stop()
  })

  it('reports no events after it is stopped', async () => {
    answers = [text('data: a\n\n')]
    const events: ServerEvent[] = []
    subscribe('/x', { onEvent: (e) => events.push(e) })()
    await vi.advanceTimersByTimeAsync(5_000)
    expect(events).toEqual([])
    expect(requests.length).toBeLessThan(2)
  })
})
