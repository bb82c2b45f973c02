// Requests of the page.

import { api, type Options } from '@/api'

import type { GraphNode } from '../graph/model/types'
import { pathOf } from './body'
import type { Mode } from './form'
import type { Answer, Hit, SearchMeta } from './types'

/** A response, and its duration in milliseconds. */
export type Responded = { meta: SearchMeta; ms: number } & (
  { mode: 'search' | 'hybrid'; data: Hit[] } | { mode: 'answer'; data: Answer; descriptions: Descriptions }
)

/** The descriptions of the cited nodes by id. */
export type Descriptions = ReadonlyMap<string, string>

/** Sends a search or a question and measures its duration. An answer is returned with the texts that it cites. */
export async function ask(mode: Mode, options: Options): Promise<Responded> {
  const began = performance.now()
  const response: { data: unknown; meta: unknown } = await api.search(pathOf(mode), options)
  const responded = { ...response, mode, ms: performance.now() - began } as Responded
  if (responded.mode !== 'answer') return responded
  return { ...responded, descriptions: await readDescriptions(responded.data, options) }
}

async function readDescriptions(
  { citations }: Answer,
  { workspace, signal }: Options,
): Promise<Descriptions> {
  if (citations.length === 0) return new Map()
  const query = { ids: citations.map((citation) => citation.nodeId), limit: 100 }
  try {
    const { data } = await api.list<GraphNode>('/queries/nodes', { workspace, query, signal })
    return new Map(data.map((node) => [node.id, node.description ?? '']))
  } catch {
    // The sentences are in the answer. Only their context is missing.
    return new Map()
  }
}
