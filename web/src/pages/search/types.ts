// Names for the requests and responses of the two searches.

import type { ApiSchemas } from '@/api'

export const LANES = [
  'text',
  'vector',
  'graph',
] as const satisfies readonly (keyof ApiSchemas['SearchWeights'])[]
export type Lane = (typeof LANES)[number]

export type Reason = ApiSchemas['SearchReason']
export type LiveValue = ApiSchemas['LiveValue']

/** A hit of either search. Fields of hybrid search may be absent. */
export type Hit = ApiSchemas['SearchHit'] &
  Partial<Omit<ApiSchemas['HybridHit'], 'scores'>> & { scores: Partial<ApiSchemas['HybridHit']['scores']> }

export type SearchMeta = ApiSchemas['SearchMeta']
export interface SearchAnswer {
  data: Hit[]
  meta: SearchMeta
}

export type Scalar = ApiSchemas['PropertyValue']
export type SearchBody = ApiSchemas['SearchQuery']
export type HybridBody = ApiSchemas['HybridQuery']
