// The data of the overview, updated each second, and values derived from it.

import type { AdminSchemas, Workspace } from '@/api'
import type { Tone } from '@/ui'

export type Overview = AdminSchemas['OverviewEvent']
/** The lag of a built-in consumer. */
export type Consumer = AdminSchemas['ConsumerLag']
export type Engine = AdminSchemas['Engine']
/** A sample of the history. */
export type Past = AdminSchemas['HistoryPoint']

/** A sample of the charts; `at` is in seconds of Unix time. */
export interface Sample {
  at: number
  /** Null, like the other values, if there is no data of this time. */
  requests: number | null
  errors: number | null
  accepted: number | null
  visible: number | null
  /** Seconds of the slowest consumer. */
  lag: number | null
  p50: number | null
  p95: number | null
}

/** The time range of the charts in seconds. */
export const SHOWN_SECONDS = 600

/** Returns the seconds that contain data: two minutes to the full range. */
export function shownSpan(samples: readonly Sample[]): number {
  const known = (samples.at(-1)?.at ?? 0) - (samples[0]?.at ?? 0)
  return Math.min(Math.max(known, 120), SHOWN_SECONDS)
}

const seconds = (at: string) => new Date(at).getTime() / 1000

export const fromPast = (p: Past): Sample => ({
  at: seconds(p.at),
  requests: p.requests,
  errors: p.errors,
  accepted: p.pointsAccepted,
  visible: p.pointsVisible,
  lag: p.lagSeconds,
  p50: p.freshness?.p50Seconds ?? null,
  p95: p.freshness?.p95Seconds ?? null,
})

export function fromNow(o: Overview): Sample {
  return {
    at: seconds(o.at),
    requests: o.rates.requests,
    errors: o.requests.find((r) => r.status === '5xx')?.perSecond ?? 0,
    accepted: o.rates.pointsAccepted,
    visible: o.rates.pointsVisible,
    lag: maxLag(o),
    p50: o.freshness?.p50Seconds ?? null,
    p95: o.freshness?.p95Seconds ?? null,
  }
}

/** Returns the lag of the slowest consumer in seconds; null if only another process knows it. */
export function maxLag(o: Overview): number | null {
  return o.consumers.length === 0 ? null : Math.max(...o.consumers.map((c) => c.lagSeconds))
}

/** Returns the number of unread records; a record that several consumers of a topic have not read counts once. */
export function waitingRecords(o: Overview): number {
  const maxByTopic = new Map<string, number>()
  for (const c of o.consumers) maxByTopic.set(c.topic, Math.max(maxByTopic.get(c.topic) ?? 0, c.lagRecords))
  return [...maxByTopic.values()].reduce((sum, n) => sum + n, 0)
}

/** The minimum distance of two samples in seconds that counts as a gap: past samples are five seconds apart. */
const GAP_SECONDS = 12

/** Adds an empty sample wherever data is missing, so that lines have a gap there. */
export function withGaps(samples: readonly Sample[]): Sample[] {
  return samples.flatMap((m, i) => {
    const before = samples[i - 1]
    if (!before || m.at - before.at < GAP_SECONDS) return [m]
    const at = (before.at + m.at) / 2
    return [
      { at, requests: null, errors: null, accepted: null, visible: null, lag: null, p50: null, p95: null },
      m,
    ]
  })
}

/** Appends a sample and removes those outside the range. A sample that is not newer than the last one is ignored. */
export function appended(samples: readonly Sample[], next: Sample): readonly Sample[] {
  const last = samples.at(-1)
  if (last && next.at <= last.at) return samples
  const from = samples.findIndex((m) => m.at > next.at - SHOWN_SECONDS)
  return [...(from < 0 ? [] : samples.slice(from)), next]
}

/** The effect of an unavailable engine on users. */
const ENGINE_EFFECTS: Record<string, string> = {
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
export const engineEffect = (name: string) =>
  ENGINE_EFFECTS[name] ?? 'Requests that use it fail until it is back.'

/** Returns the tone of a lag in seconds. */
/** Reports whether no workspace of the installation has a source. Of many workspaces only the first are known. */
export const withoutSources = (known: readonly Workspace[], total: number): boolean =>
  known.length >= total && known.every((w) => w.sources === 0)

export const lagTone = (s: number): Tone => (s >= 60 ? 'bad' : s >= 10 ? 'warn' : 'neutral')
export const freshnessTone = (s: number): Tone => (s >= 10 ? 'bad' : s >= 2 ? 'warn' : 'neutral')
