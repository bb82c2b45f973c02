// The data of the overview, updated each second, and values derived from it.

import type { AdminSchemas } from '@/api'
import type { Tone } from '@/ui'

export type Overview = AdminSchemas['OverviewEvent']
/** How far a built-in reader of the log is. */
export type Consumer = AdminSchemas['ConsumerLag']
export type Engine = AdminSchemas['Engine']
/** How it was at a time. */
export type Past = AdminSchemas['HistoryPoint']

/** One moment of the charts; seconds of Unix time. */
export interface Moment {
  at: number
  /** Null, as all others: nothing is known of this time. */
  requests: number | null
  errors: number | null
  accepted: number | null
  visible: number | null
  /** Seconds, of the slowest consumer. */
  lag: number | null
  p50: number | null
  p95: number | null
}

/** Seconds that the charts show. */
export const SHOWN = 600

/** Seconds that there is something to show of: from two minutes to all. */
export function shownSpan(moments: readonly Moment[]): number {
  const known = (moments.at(-1)?.at ?? 0) - (moments[0]?.at ?? 0)
  return Math.min(Math.max(known, 120), SHOWN)
}

const seconds = (at: string) => new Date(at).getTime() / 1000

export const fromPast = (p: Past): Moment => ({
  at: seconds(p.at),
  requests: p.requests,
  errors: p.errors,
  accepted: p.pointsAccepted,
  visible: p.pointsVisible,
  lag: p.lagSeconds,
  p50: p.freshness?.p50Seconds ?? null,
  p95: p.freshness?.p95Seconds ?? null,
})

export function fromNow(o: Overview): Moment {
  return {
    at: seconds(o.at),
    requests: o.rates.requests,
    errors: o.requests.find((r) => r.status === '5xx')?.perSecond ?? 0,
    accepted: o.rates.pointsAccepted,
    visible: o.rates.pointsVisible,
    lag: slowest(o),
    p50: o.freshness?.p50Seconds ?? null,
    p95: o.freshness?.p95Seconds ?? null,
  }
}

/** Seconds that the slowest consumer is behind; null: only another process knows. */
export function slowest(o: Overview): number | null {
  return o.consumers.length === 0 ? null : Math.max(...o.consumers.map((c) => c.lagSeconds))
}

/** Records that wait for a consumer; one that waits for several of its topic is one. */
export function waiting(o: Overview): number {
  const most = new Map<string, number>()
  for (const c of o.consumers) most.set(c.topic, Math.max(most.get(c.topic) ?? 0, c.lagRecords))
  return [...most.values()].reduce((sum, n) => sum + n, 0)
}

/** Seconds between two moments from which on nothing is known of the time in between: past ones are five apart. */
const GAP = 12

/** Adds an empty moment wherever data is missing, so that lines have a gap there. */
export function withGaps(moments: readonly Moment[]): Moment[] {
  return moments.flatMap((m, i) => {
    const before = moments[i - 1]
    if (!before || m.at - before.at < GAP) return [m]
    const at = (before.at + m.at) / 2
    return [
      { at, requests: null, errors: null, accepted: null, visible: null, lag: null, p50: null, p95: null },
      m,
    ]
  })
}

/** The moments with one more; those that are no longer shown go, and one that is not later than the last is none. */
export function appended(moments: readonly Moment[], next: Moment): readonly Moment[] {
  const last = moments.at(-1)
  if (last && next.at <= last.at) return moments
  const from = moments.findIndex((m) => m.at > next.at - SHOWN)
  return [...(from < 0 ? [] : moments.slice(from)), next]
}

/** The effect of an unavailable engine on users. */
const MEANING: Record<string, string> = {
  kafka: 'Points and commands get 503 until it is back; reads are not affected.',
  clickhouse: 'Points are accepted and wait in Kafka; queries of points and the audit log fail.',
  postgres: 'Keys that are not cached, the graph and sources cannot be read; commands wait.',
  redis: 'Each process enforces limits by itself; commands take a little longer.',
  valkey: 'Each process enforces limits by itself; commands take a little longer.',
  milvus: 'Search uses words only; new vectors wait.',
  embedder: 'Search uses words only; new texts wait to be embedded.',
}

const NAMES: Record<string, string> = {
  kafka: 'Kafka',
  clickhouse: 'ClickHouse',
  postgres: 'Postgres',
  redis: 'Redis',
  valkey: 'Valkey',
  milvus: 'Milvus',
  embedder: 'Embedder',
}

export const engineName = (name: string) => NAMES[name] ?? name
export const engineMeaning = (name: string) => MEANING[name] ?? 'Requests that use it fail until it is back.'

/** What a lag in seconds is to be thought of. */
export const lagTone = (s: number): Tone => (s >= 60 ? 'bad' : s >= 10 ? 'warn' : 'neutral')
export const freshnessTone = (s: number): Tone => (s >= 10 ? 'bad' : s >= 2 ? 'warn' : 'neutral')
