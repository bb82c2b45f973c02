// The query client: retries and cache lifetimes.

import { QueryClient } from '@tanstack/react-query'

import { ApiError } from '@/api'

/** Retries temporary errors three times. Other errors are reported at once. */
export function retry(failures: number, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return (
    failures < 3 &&
    (error.status === 0 || error.status === 502 || error.status === 503 || error.status === 504)
  )
}

/** Returns the milliseconds before the next attempt: the server's Retry-After, else doubling. */
export function retryDelay(failures: number, error: unknown): number {
  if (error instanceof ApiError && error.retryAfter) return Math.min(error.retryAfter, 30) * 1000
  return Math.min(1000 * 2 ** failures, 30_000)
}

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: { retry, retryDelay, staleTime: 5_000, networkMode: 'always' },
    mutations: { retry: false, networkMode: 'always' },
  },
})
