// The filter of the audit log in the URL of the page.

import type { Query } from '@/api'
import { durationMs, SPANS } from '@/ui/spans'

/** The default time range. */
export const DEFAULT_RANGE = '1d'

/** The time ranges: their values in the URL and their labels. */
export const RANGES = [
  ...SPANS.filter((span) => ['15m', '1h', DEFAULT_RANGE, '7d', '30d'].includes(span.last)).map((span) => ({
    value: span.last,
    label: `Last ${span.label}`,
  })),
  { value: '', label: 'All stored entries' },
]

export const STATUSES = [
  { value: '', label: 'Any status' },
  { value: '2xx', label: '2xx: success' },
  { value: '4xx', label: '4xx: refused' },
  { value: '401', label: '401: unknown or expired key' },
  { value: '403', label: '403: not allowed' },
  { value: '429', label: '429: over the limit' },
  { value: '5xx', label: '5xx: failed' },
  { value: '0', label: 'Closed before a response' },
] as const

export const FIELDS = ['workspaceId', 'keyId', 'status', 'route', 'ip', 'requestId'] as const
export type Field = (typeof FIELDS)[number]

/**
 * Returns the query of a list. The start of the range is fixed, because all pages of a list must use the same range.
 */
export function queryOf(params: URLSearchParams, now: number): Query {
  const query: Query = {}
  for (const field of FIELDS) query[field] = params.get(field)?.trim() ?? null
  const range = params.get('range') ?? DEFAULT_RANGE
  const back = durationMs(range) ?? (range === '' ? undefined : durationMs(DEFAULT_RANGE))
  if (back !== undefined) query['from'] = new Date(now - back).toISOString()
  return query
}

/** Returns the tone of a status. */
export function toneOf(status: number | null): 'ok' | 'warn' | 'bad' | 'neutral' {
  if (status === null || status === 0) return 'neutral'
  if (status >= 500) return 'bad'
  return status >= 400 ? 'warn' : 'ok'
}
