// Where the stream of changes begins.

import { useEffect, useState } from 'react'

import { ApiError, type StreamState } from '@/api'
import { backoff } from '@/api/events'
import { sleep } from '@/api/sleep'

import type { GraphSource } from './source'

/** Asks for the newest change until it is told: what fails once says nothing of the next time. Null: it was given up. */
export async function headOf(
  source: Pick<GraphSource, 'head'>,
  signal: AbortSignal,
  tell: (state: StreamState) => void,
): Promise<number | null> {
  const over = () => signal.aborted
  for (let attempt = 0; !over(); attempt++) {
    try {
      return await source.head(signal)
    } catch (cause) {
      if (over()) return null
      const error = cause instanceof ApiError ? cause : new ApiError(0, {})
      const delay = backoff(attempt, (error.retryAfter ?? 0) * 1000)
      tell({ status: 'waiting', delay, error })
      await sleep(delay, signal)
    }
  }
  return null
}

/** The newest change when the page was opened, null until it is known; and meanwhile, how it stands. */
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
