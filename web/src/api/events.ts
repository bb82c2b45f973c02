// Event streams that reconnect. They use fetch, because EventSource cannot send headers and hides the reason of a
// failure.

import { useEffect, useRef, useState } from 'react'

import { ApiError, send, type Options, type Query } from './client'
import { sleep } from './sleep'
import { EventParser, type ServerEvent } from './sse'

export type { ServerEvent } from './sse'

/** The state of a stream. */
export type StreamState =
  | { status: 'connecting' }
  | { status: 'open' }
  /** The connection broke and is opened again in `delay` milliseconds. */
  | { status: 'waiting'; delay: number; error: ApiError }
  /** The request was refused for a reason that a retry does not resolve. */
  | { status: 'failed'; error: ApiError }

export interface Subscription extends Pick<Options, 'workspace' | 'query'> {
  onEvent: (event: ServerEvent) => void
  onState?: (state: StreamState) => void
  /** The stream continues after this event. */
  lastEventId?: string
}

/** Milliseconds without a byte, heartbeats included, after which a connection is considered dead. */
const SILENCE_TIMEOUT_MS = 45_000
const MIN_DELAY_MS = 1_000
const MAX_DELAY_MS = 30_000

/**
 * Returns the milliseconds to wait before attempt number `attempt`, from 0: exponential with jitter, at least
 * `minDelay`.
 */
export function backoff(attempt: number, minDelay: number, random: () => number = Math.random): number {
  const ceiling = Math.min(MIN_DELAY_MS * 2 ** Math.min(attempt, 16), MAX_DELAY_MS)
  return Math.max(minDelay, Math.round(ceiling * (0.5 + random() / 2)))
}

/** Reports whether a later attempt of the same request may succeed. */
export function isRetryable(error: ApiError): boolean {
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
  const isAborted = () => signal.aborted
  const report = (state: StreamState) => {
    if (!isAborted()) s.onState?.(state)
  }
  let lastId = s.lastEventId ?? ''
  let serverDelay = 0
  for (let attempt = 0; !isAborted(); attempt++) {
    report({ status: 'connecting' })
    const parser = new EventParser(lastId)
    let error = new ApiError(200, { message: 'The stream ended' })
    try {
      await connect(path, s, parser, signal, () => {
        attempt = 0
        report({ status: 'open' })
      })
    } catch (cause) {
      if (isAborted()) return
      error = cause instanceof ApiError ? cause : new ApiError(0, {})
      if (!isRetryable(error)) {
        report({ status: 'failed', error })
        return
      }
    }
    lastId = parser.id
    serverDelay = parser.retry ?? serverDelay
    const delay = backoff(attempt, Math.max(serverDelay, (error.retryAfter ?? 0) * 1000))
    report({ status: 'waiting', delay, error })
    await sleep(delay, signal)
  }
}

/** Opens one connection and reads it until it ends. */
async function connect(
  path: string,
  s: Subscription,
  parser: EventParser,
  signal: AbortSignal,
  onOpen: () => void,
): Promise<void> {
  const connection = new AbortController()
  const abort = () => connection.abort()
  signal.addEventListener('abort', abort)
  let timer = window.setTimeout(abort, SILENCE_TIMEOUT_MS)
  try {
    const headers: Record<string, string> = { Accept: 'text/event-stream' }
    if (parser.id) headers['Last-Event-ID'] = parser.id
    const response = await send('GET', path, { ...s, headers, signal: connection.signal })
    if (!response.body) return
    onOpen()
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      window.clearTimeout(timer)
      timer = window.setTimeout(abort, SILENCE_TIMEOUT_MS)
      for (const event of parser.push(value)) if (!signal.aborted) s.onEvent(event)
    }
  } finally {
    window.clearTimeout(timer)
    signal.removeEventListener('abort', abort)
    connection.abort()
  }
}

export interface UseEvents {
  workspace?: string | undefined
  query?: Query | undefined
  /** If false, no stream is opened. */
  enabled?: boolean
  /** A new number opens the stream again, even after a refusal. */
  generation?: number
  onEvent: (event: ServerEvent) => void
}

/** Opens a stream while the component is mounted. It reopens when its URL changes, not when `onEvent` does. */
export function useEvents(
  path: string,
  { workspace, query, enabled = true, generation = 0, onEvent }: UseEvents,
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
  }, [path, workspace, key, enabled, generation])
  return state
}
