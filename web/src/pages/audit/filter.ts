// What is asked of the audit log, as it stands in the address of the page.

import type { Query } from '@/api'

/** Ranges that are chosen by a word; seconds back from now. */
export const RANGES = [
  { value: '900', label: 'Last 15 minutes' },
  { value: '3600', label: 'Last hour' },
  { value: '86400', label: 'Last day' },
  { value: '604800', label: 'Last 7 days' },
  { value: '2592000', label: 'Last 30 days' },
  { value: '', label: 'All that is kept' },
] as const

export const STATUSES = [
  { value: '', label: 'Any status' },
  { value: '2xx', label: '2xx: done' },
  { value: '4xx', label: '4xx: refused' },
  { value: '401', label: '401: key unknown or expired' },
  { value: '403', label: '403: not allowed' },
  { value: '429', label: '429: over the limit' },
  { value: '5xx', label: '5xx: failed' },
  { value: '0', label: 'Cut off before an answer' },
] as const

export const FIELDS = ['workspaceId', 'keyId', 'status', 'route', 'ip', 'requestId'] as const
export type Field = (typeof FIELDS)[number]

/** The query of a list, with the start of the range fixed: pages of one list have to be of the same range. */
export function queryOf(params: URLSearchParams, now: number): Query {
  const query: Query = {}
  for (const field of FIELDS) query[field] = params.get(field)?.trim() ?? null
  const back = Number(params.get('range') ?? 86_400)
  if (back > 0 && Number.isFinite(back)) query['from'] = new Date(now - back * 1000).toISOString()
  return query
}

/** How a status looks. */
export function toneOf(status: number | null): 'ok' | 'warn' | 'bad' | 'neutral' {
  if (status === null || status === 0) return 'neutral'
  if (status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'ok'
}
