// The points of a source to delete: none until metrics and times are selected.

import { visible } from '@/ui/format'

import { instantOf, wallOf } from './zones'

export interface Erasure {
  /** Empty if not selected. */
  metrics: '' | 'one' | 'all'
  metric: string
  times: '' | 'between' | 'before' | 'since' | 'all'
  /** Local time; also empty while it is incomplete. */
  from: string
  to: string
}

export const NOTHING: Erasure = { metrics: '', metric: '', times: '', from: '', to: '' }

export interface ErasureQuery {
  metric: string
  from: string
  to: string
}

export const hasFrom = (e: Erasure) => e.times === 'between' || e.times === 'since'
export const hasTo = (e: Erasure) => e.times === 'between' || e.times === 'before'

/** Returns the request, null while the selection is incomplete, and the errors by field. */
export function readErasure(
  e: Erasure,
  zone: string,
): { query: ErasureQuery | null; problems: Partial<Record<'metric' | 'from' | 'to', string>> } {
  const problems: Partial<Record<'metric' | 'from' | 'to', string>> = {}
  const from = hasFrom(e) ? instantOf(e.from, zone) : undefined
  const to = hasTo(e) ? instantOf(e.to, zone) : undefined
  if (e.metrics === 'one' && e.metric === '') problems.metric = 'Enter the name of a metric.'
  if (hasFrom(e) && from === undefined) problems.from = 'Enter a date with a time.'
  if (hasTo(e) && to === undefined) problems.to = 'Enter a date with a time.'
  if (from !== undefined && to !== undefined && from >= to) problems.to = 'The end must be after the start.'
  if (e.metrics === '' || e.times === '' || Object.keys(problems).length > 0) return { query: null, problems }
  const iso = (ms: number | undefined) => (ms === undefined ? '' : new Date(ms).toISOString())
  return { query: { metric: e.metrics === 'one' ? e.metric : '', from: iso(from), to: iso(to) }, problems }
}

/** Describes the points to delete. */
export function erasureText({ metric, from, to }: ErasureQuery, zone: string): string {
  const at = (iso: string) => wallOf(Date.parse(iso), zone).replace('T', ' ')
  const times = [from && `from ${at(from)}`, to ? `up to ${at(to)}, not included` : from && 'on'].filter(
    Boolean,
  )
  return `${metric ? `metric ${visible(metric, 80)}` : 'every metric'}, ${times.length > 0 ? times.join(' ') : 'of all time'}`
}
