// The start position of the change stream.

import { useEffect, useState } from 'react'

import { ApiError, type StreamState } from '@/api'
import { backoff } from '@/api/events'
import { sleep } from '@/api/sleep'

import type { GraphSource } from './source'

/** Requests the newest change until it succeeds. Returns null if it is cancelled. */
export async function headOf(
  source: Pick<GraphSource, 'head'>,
  signal: AbortSignal,
  report: (state: StreamState) => void,
): Promise<number | null> {
  const isAborted = () => signal.aborted
  for (let attempt = 0; !isAborted(); attempt++) {
    try {
      return await source.head(signal)
    } catch (cause) {
      if (isAborted()) return null
      const error = cause instanceof ApiError ? cause : new ApiError(0, {})
      const delay = backoff(attempt, (error.retryAfter ?? 0) * 1000)
      report({ status: 'waiting', delay, error })
      await sleep(delay, signal)
    }
  }
  return null
}

/** Returns the newest change when the page was opened, null until it is known, and the state of the request. */
export function useHead(source: GraphSource): [head: number | null, state: StreamState] {
  const [head, setHead] = useState<number | null>(null)
  const [state, setState] = useState<StreamState>({ status: 'connecting' })
  useEffect(() => {
    const abort = new AbortController()
    void headOf(source, abort.signal, setState).then((found) => {
      if (!abort.signal.aborted) setHead(found)
    })
    return () => abort.abort()
  }, [source])
  return [head, state]
}
