// Event streams that come back: by fetch, because EventSource can send no header and would hide why it failed.

import { useEffect, useRef, useState } from 'react'

import { ApiError, send, type Options, type Query } from './client'
import { sleep } from './sleep'
import { EventParser, type ServerEvent } from './sse'

export type { ServerEvent } from './sse'

/** The state of a stream. */
export type StreamState =
  | { status: 'connecting' }
  | { status: 'open' }
  /** It broke, and comes back in `delay` milliseconds. */
  | { status: 'waiting'; delay: number; error: ApiError }
  /** It was refused for a reason that trying again does not mend. */
  | { status: 'failed'; error: ApiError }

export interface Subscription extends Pick<Options, 'workspace' | 'query'> {
  onEvent: (event: ServerEvent) => void
  onState?: (state: StreamState) => void
  /** Go on after this event. */
  lastEventId?: string
}

/** Milliseconds without a byte, heartbeats included, after which a connection counts as dead. */
const SILENCE = 45_000
const FIRST_DELAY = 1_000
const LAST_DELAY = 30_000

/** Milliseconds to wait before try number `attempt`, from 0: doubling, with jitter, never below the server's delay. */
export function backoff(attempt: number, atLeast: number, random: () => number = Math.random): number {
  const ceiling = Math.min(FIRST_DELAY * 2 ** Math.min(attempt, 16), LAST_DELAY)
  return Math.max(atLeast, Math.round(ceiling * (0.5 + random() / 2)))
}

/** Whether the same request may have more luck later. */
export function worthRetrying(error: ApiError): boolean {
  return (
    error.status === 0 ||
    error.status === 408 ||
    error.status === 429 ||
    error.status >= 500 ||
    error.status === 200
  )
}

/** Opens a stream and keeps it open until the returned function is called. */
export function subscribe(path: string, subscription: Subscription): () => void {
  const stop = new AbortController()
  void run(path, subscription, stop.signal)
  return () => stop.abort()
}

async function run(path: string, s: Subscription, signal: AbortSignal): Promise<void> {
  const over = () => signal.aborted
  const report = (state: StreamState) => {
    if (!over()) s.onState?.(state)
  }
  let lastId = s.lastEventId ?? ''
  let serverWants = 0
  for (let attempt = 0; !over(); attempt++) {
    report({ status: 'connecting' })
    const parser = new EventParser(lastId)
    let error = new ApiError(200, { message: 'The stream ended' })
    try {
      await connect(path, s, parser, signal, () => {
        attempt = 0
        report({ status: 'open' })
      })
    } catch (cause) {
      if (over()) return
      error = cause instanceof ApiError ? cause : new ApiError(0, {})
      if (!worthRetrying(error)) {
        report({ status: 'failed', error })
        return
      }
    }
    lastId = parser.id
    serverWants = parser.retry ?? serverWants
    const delay = backoff(attempt, Math.max(serverWants, (error.retryAfter ?? 0) * 1000))
    report({ status: 'waiting', delay, error })
    await sleep(delay, signal)
  }
}

/** One connection, until it ends. */
async function connect(
  path: string,
  s: Subscription,
  parser: EventParser,
  signal: AbortSignal,
  opened: () => void,
): Promise<void> {
  const connection = new AbortController()
  const end = () => connection.abort()
  signal.addEventListener('abort', end)
  let silence = window.setTimeout(end, SILENCE)
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' }
    if (parser.id) headers['Last-Event-ID'] = parser.id
    const response = await send('GET', path, { ...s, headers, signal: connection.signal })
    if (!response.body) return
    opened()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      window.clearTimeout(silence)
      silence = window.setTimeout(end, SILENCE)
      for (const event of parser.push(value)) if (!signal.aborted) s.onEvent(event)
    }
  } finally {
    window.clearTimeout(silence)
    signal.removeEventListener('abort', end)
    connection.abort()
  }
}

export interface UseEvents {
  workspace?: string | undefined
  query?: Query | undefined
  /** False: no stream for now. */
  enabled?: boolean
  /** Another number opens the stream again, even after a refusal. */
  again?: number
  onEvent: (event: ServerEvent) => void
}

/** Opens a stream while the component is mounted. It reopens when its URL changes, not when `onEvent` does. */
export function useEvents(
  path: string,
  { workspace, query, enabled = true, again = 0, onEvent }: UseEvents,
): StreamState {
  const [state, setState] = useState<StreamState>({ status: 'connecting' })
  const handler = useRef(onEvent)
  useEffect(() => {
    handler.current = onEvent
  })
  const key = JSON.stringify(query ?? {})
  useEffect(() => {
    if (!enabled) return
    return subscribe(path, {
      workspace,
      query: JSON.parse(key) as Query,
      onEvent: (event) => handler.current(event),
      onState: setState,
    })
  }, [path, workspace, key, enabled, again])
  return state
}
