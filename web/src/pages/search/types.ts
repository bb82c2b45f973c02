// What the two searches take and answer with; schemas/openapi.yaml is the source.

import type { Meta } from '@/api'

import type { Direction, EntityType, GraphEdge, GraphNode } from '../graph/model/types'

export const LANES = ['text', 'vector', 'graph'] as const
export type Lane = (typeof LANES)[number]

export interface Reason {
  kind: 'named' | 'start' | Lane
  /** Of graph: the node from which the walk brought it. */
  nodeId: string | null
  detail: string
  /** How much of the score it is. */
  share: number
}

export interface LiveValue {
  sourceId: string
  sourceName: string
  metric: string
  unit: string | null
  tags: Record<string, string>
  timestamp: string
  value: number | string
}

/** A hit of either search: what hybrid search alone has may be absent. */
export interface Hit {
  node: GraphNode
  score: number
  scores: { text: number | null; vector: number | null; graph?: number | null }
  snippet: string
  matchedChunk: { index: number; text?: string } | null
  path?: GraphEdge[]
  explanation?: Reason[]
  edges?: GraphEdge[]
  liveData?: LiveValue[]
}

export interface SearchMeta extends Meta {
  /** What the answer had to do without. */
  degraded?: (Lane | 'liveData')[]
}

export interface SearchAnswer {
  data: Hit[]
  meta: SearchMeta
}

export type Scalar = string | number | boolean

export interface SearchBody {
  query: string
  limit?: number
  offset?: number
  entityTypes?: EntityType[]
  minScore?: number
  properties?: Record<string, Scalar | Scalar[]>
  includeContent?: boolean
}

export interface HybridBody extends SearchBody {
  hops?: number
  relationTypes?: string[]
  direction?: Direction
  nodeIds?: string[]
  weights?: Partial<Record<Lane, number>>
  explain?: boolean
  includeEdges?: boolean
  includeLiveData?: boolean
}
