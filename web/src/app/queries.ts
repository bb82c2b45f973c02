// What is known of the server, and for how long.

import { QueryClient } from '@tanstack/react-query'

import { ApiError } from '@/api'

/** Tries again what may have more luck, three times; the page is told of everything else at once. */
export function retry(failures: number, error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return (
    failures < 3 &&
    (error.status === 0 || error.status === 502 || error.status === 503 || error.status === 504)
  )
}

/** Milliseconds before the next try: what the server wants, else doubling. */
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
