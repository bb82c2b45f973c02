// Descriptions of the status of the indexes.

import { duration, num, plural } from '@/ui/format'

import type { IndexStatus, Installed, Reindex, SearchIndex } from './types'

export const TONES = { ready: 'ok', indexing: 'accent', degraded: 'bad' } as const

/** Describes why an index is being built. */
export function causeText(cause: string): string {
  switch (cause) {
    case 'first':
      return 'No index existed.'
    case 'lost':
      return 'The index was lost and is rebuilt from the graph.'
    case 'model':
      return 'Another embedder is configured. Until the index is complete, plain search is unavailable and hybrid search works without meaning.'
    case 'asked':
      return 'Requested by an operator. The old index is used until the new one is complete.'
    default:
      return ''
  }
}

/** Describes the status of a workspace and what to do. */
export function statusText(index: IndexStatus): string {
  const { events, seconds } = index.lag
  switch (index.status) {
    case 'ready':
      return 'All nodes are found.'
    case 'indexing':
      if (events > 0)
        return `${plural(events, 'change')} not indexed yet, the oldest for ${duration(seconds * 1000)}.`
      return 'Some changes are not indexed yet.'
    case 'degraded':
      if (!index.model) return 'No index exists yet.'
      if (events > 0)
        return `No progress for ${duration(seconds * 1000)}, with ${plural(events, 'change')} waiting.`
      return 'It cannot be read or written.'
  }
}

/** Returns the share of a workspace's nodes that is indexed, 0 to 1; null if there are no nodes. */
export function indexedShare(index: IndexStatus): number | null {
  return index.nodes.total === 0 ? null : Math.min(1, index.nodes.indexed / index.nodes.total)
}

export const liveOf = (installed: Installed): SearchIndex | null =>
  installed.indexes.find((index) => index.state === 'live') ?? null

export const buildingOf = (installed: Installed): SearchIndex | null =>
  installed.indexes.find((index) => index.state === 'building') ?? null

/** Reports whether a new index is requested or being built, so that another request would have no effect. */
export function isRebuilding(installed: Installed): boolean {
  return buildingOf(installed) !== null || (installed.last !== null && installed.last.state !== 'done')
}

/** Describes the progress of a build. */
export function progressText(index: { done: number; total: number; etaSeconds: number | null }): string {
  const done = `${num(index.done)} of ${plural(index.total, 'node')}`
  if (index.etaSeconds === null) return done
  return `${done}, about ${duration(Math.max(1, Math.round(index.etaSeconds)) * 1000)} left`
}

/** Describes the result of the last re-index. */
export function lastText(last: Reindex): string {
  switch (last.state) {
    case 'queued':
      return 'requested; a process with role “embeddings” starts it within seconds'
    case 'running':
      return 'being built'
    case 'done':
      return 'done'
  }
}
