/** The query of the data explorer: its URL, its request and its validation. */
import type { QueryParameters } from '@/api/schemas'
import { durationMs } from '@/ui/spans'

import { browserZone, isZone } from './zones'

/** How points are aggregated. */
export type Mode = 'aggregated' | 'thinned' | 'raw' | 'latest'

export const MODES: readonly Mode[] = ['aggregated', 'thinned', 'raw', 'latest']

export type Aggregation = NonNullable<QueryParameters['aggregation']>[number]

/**
 * What each function of schemas/openapi.yaml, in their order, returns: `value` is one of the values of the series, so
 * a string for a series of strings. The type requires all of them.
 */
const FUNCTIONS: Record<Aggregation, 'number' | 'value'> = {
  avg: 'number',
  min: 'number',
  max: 'number',
  sum: 'number',
  count: 'number',
  first: 'value',
  last: 'value',
  stddev: 'number',
  p50: 'number',
  p90: 'number',
  p95: 'number',
  p99: 'number',
  rate: 'number',
  delta: 'number',
}

export const AGGREGATIONS = Object.keys(FUNCTIONS) as Aggregation[]

/** Reports whether a column of points holds values of its series: raw points, or a function that returns one of them. */
export function holdsValues(column: string): boolean {
  return column === 'value' || AGGREGATIONS.some((name) => name === column && FUNCTIONS[name] === 'value')
}

/** The last span until now, or from one time to another in milliseconds. */
export type Range = { last: string } | { from: number; to: number }

export interface Explore {
  sourceIds: string[]
  metrics: string[]
  tags: [key: string, value: string][]
  range: Range
  zone: string
  mode: Mode
  aggregations: Aggregation[]
  /** `auto`, or a number and a unit. */
  interval: string
  /** none, null, previous, linear or a number. */
  fill: string
  /** The grouping of series; empty for each series alone, `none` for all in one. */
  groupBy: string[]
  /** The maximum number of points of a series; 0 for as many as the chart can show. */
  maxPoints: number
  /** The number of skipped series. */
  offset: number
}

/** The limits of one chart. */
export const SERIES_PER_PAGE = 50
export const MAX_SOURCES = 50
export const CHART_POINTS = 500
/** The maximum number of points of a response that a browser draws and lists without a delay. */
export const POINTS_LIMIT = 100_000
/** The largest maxPoints with which a full page of series fits the response. */
export const MAX_POINTS = POINTS_LIMIT / SERIES_PER_PAGE

export function emptyExplore(zone = browserZone()): Explore {
  return {
    sourceIds: [],
    metrics: [],
    tags: [],
    range: { last: '1h' },
    zone,
    mode: 'aggregated',
    aggregations: ['avg'],
    interval: 'auto',
    fill: 'null',
    groupBy: [],
    maxPoints: 0,
    offset: 0,
  }
}

/** Returns a range as from and to in milliseconds; a relative range ends at now. */
export function bounds(range: Range, now: number): { from: number; to: number } {
  if (!('last' in range)) return range
  return { from: now - (durationMs(range.last) ?? 3_600_000), to: now }
}

/** Moves a range by a fraction of its length: -0.5 is half of it into the past. */
export function shift(range: Range, by: number, now: number): Range {
  const { from, to } = bounds(range, now)
  const step = Math.round((to - from) * by)
  return { from: Math.max(0, from + step), to: Math.max(1, to + step) }
}

/** Widens a range around its centre. */
export function widen(range: Range, factor: number, now: number): Range {
  const { from, to } = bounds(range, now)
  const middle = (from + to) / 2
  const half = ((to - from) / 2) * factor
  return {
    from: Math.max(0, Math.round(middle - half)),
    to: Math.round(Math.min(middle + half, Math.max(to, now))),
  }
}

// ------------------------------------------------------------------ address

const isMode = (text: string | null): text is Mode => MODES.includes(text as Mode)
const isAggregation = (text: string): text is Aggregation => AGGREGATIONS.includes(text as Aggregation)

const wholeNumber = (text: string | null): number =>
  text !== null && /^[0-9]{1,15}$/.test(text) ? Number(text) : 0

/** Reads a query from a URL. Invalid values are ignored. */
export function readExplore(address: URLSearchParams, zone = browserZone()): Explore {
  const e = emptyExplore(zone)
  e.sourceIds = unique(address.getAll('source')).slice(0, MAX_SOURCES)
  e.metrics = unique(address.getAll('metric'))
  for (const [name, value] of address)
    if (name.startsWith('tag.') && name.length > 4) e.tags.push([name.slice(4), value])
  const from = wholeNumber(address.get('from'))
  const to = wholeNumber(address.get('to'))
  const last = address.get('last')
  if (to > from) e.range = { from, to }
  else if (last !== null && durationMs(last)) e.range = { last }
  const asked = address.get('zone')
  if (asked !== null && isZone(asked)) e.zone = asked
  const mode = address.get('mode')
  if (isMode(mode)) e.mode = mode
  const functions = unique((address.get('aggregation') ?? '').split(',')).filter(isAggregation)
  if (functions.length > 0) e.aggregations = functions
  e.interval = address.get('interval') ?? e.interval
  e.fill = address.get('fill') ?? e.fill
  e.groupBy = address.getAll('groupBy')
  e.maxPoints = wholeNumber(address.get('maxPoints'))
  e.offset = wholeNumber(address.get('offset'))
  return e
}

/** Writes a query to a URL without default values. */
export function writeExplore(e: Explore, zone = browserZone()): URLSearchParams {
  const defaults = emptyExplore(zone)
  const address = new URLSearchParams()
  const set = (name: string, value: string, when: boolean) => {
    if (when) address.set(name, value)
  }
  for (const id of e.sourceIds) address.append('source', id)
  for (const name of e.metrics) address.append('metric', name)
  for (const [key, value] of e.tags) address.append(`tag.${key}`, value)
  if ('last' in e.range) {
    address.set('last', e.range.last)
  } else {
    address.set('from', String(e.range.from))
    address.set('to', String(e.range.to))
  }
  set('zone', e.zone, e.zone !== defaults.zone)
  set('mode', e.mode, e.mode !== defaults.mode)
  const functions = e.aggregations.join(',')
  set('aggregation', functions, functions !== defaults.aggregations.join(','))
  set('interval', e.interval, e.interval !== defaults.interval)
  set('fill', e.fill, e.fill !== defaults.fill)
  for (const name of e.groupBy) address.append('groupBy', name)
  set('maxPoints', String(e.maxPoints), e.maxPoints !== 0)
  set('offset', String(e.offset), e.offset !== 0)
  return address
}

const unique = (list: string[]): string[] => [...new Set(list.filter((text) => text !== ''))]

// ------------------------------------------------------------------ sending

export type Pair = readonly [name: string, value: string]

/** Returns the errors of a query by field. */
export function problemsOf(e: Explore): Partial<Record<keyof Explore, string>> {
  const problems: Partial<Record<keyof Explore, string>> = {}
  if (e.mode === 'aggregated') {
    if (e.aggregations.length === 0) problems.aggregations = 'Select at least one aggregation.'
    const ms = durationMs(e.interval, 'smhd')
    if (e.interval !== 'auto' && (ms === undefined || ms > 30 * 86_400_000))
      problems.interval = 'auto, or a whole number with s, m, h or d: 1s to 30d.'
    if (
      !['none', 'null', 'previous', 'linear'].includes(e.fill) &&
      !/^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$/.test(e.fill)
    )
      problems.fill = 'none, null, previous, linear, or a number.'
  }
  if (e.maxPoints !== 0 && (e.maxPoints < 2 || e.maxPoints > MAX_POINTS))
    problems.maxPoints = `From 2 to ${MAX_POINTS.toLocaleString('en-GB')}.`
  if (!('last' in e.range) && e.range.from >= e.range.to) problems.range = 'The end must be after the start.'
  return problems
}

/**
 * Returns the parameters of GET /api/live-data/query. Relative times stay relative, so that a copied query still means
 * the last hour.
 */
export function paramsOf(e: Explore): Pair[] {
  const pairs: Pair[] = []
  for (const id of e.sourceIds) pairs.push(['sourceId', id])
  for (const name of e.metrics) pairs.push(['metric', name])
  for (const [key, value] of e.tags) pairs.push([`tag.${key}`, value])
  if (e.mode === 'latest') {
    pairs.push(['latest', 'true'])
  } else if ('last' in e.range) {
    pairs.push(['from', `-${e.range.last}`])
  } else {
    pairs.push(['from', new Date(e.range.from).toISOString()])
    pairs.push(['to', new Date(e.range.to).toISOString()])
  }
  if (e.mode === 'aggregated') {
    pairs.push(['aggregation', e.aggregations.join(',')])
    pairs.push(['interval', e.interval])
    if (e.zone !== 'UTC') pairs.push(['timezone', e.zone])
    if (e.fill !== 'none') pairs.push(['fill', e.fill])
    if (e.groupBy.length > 0) pairs.push(['groupBy', e.groupBy.join(',')])
  }
  if (e.mode === 'thinned') pairs.push(['downsample', 'lttb'])
  if (e.mode === 'thinned' || (e.mode === 'aggregated' && e.interval === 'auto'))
    pairs.push(['maxPoints', String(e.maxPoints || CHART_POINTS)])
  pairs.push(['limit', String(SERIES_PER_PAGE)])
  if (e.offset > 0) pairs.push(['offset', String(e.offset)])
  if (e.mode !== 'latest') pairs.push(['pointsLimit', String(POINTS_LIMIT)])
  return pairs
}

/** Returns pairs as a URL query. */
export function queryText(pairs: readonly Pair[]): string {
  return pairs.map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`).join('&')
}
