// Names for the requests and responses of the searches, of answers, and of saved queries.

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

export type Answer = ApiSchemas['Answer']
export type Citation = ApiSchemas['AnswerCitation']
export type Sentence = ApiSchemas['AnswerSentence']
export type Generated = ApiSchemas['GeneratedAnswer']
export type HitDocument = ApiSchemas['HitDocument']

export const FACETS = [
  'entityType',
  'tags',
  'timestamp',
] as const satisfies readonly (keyof ApiSchemas['SearchFacets'])[]
export type FacetName = (typeof FACETS)[number]
export type Facet = ApiSchemas['SearchFacet']
export type Facets = ApiSchemas['SearchFacets']

export const INTERVALS = ['day', 'month', 'year'] as const satisfies readonly Facet['interval'][]
export type Interval = (typeof INTERVALS)[number]

export type Scalar = ApiSchemas['PropertyValue']
/** A limit of a range of a property. */
export type Bound = string | number
/** All fields that a body may have. A route accepts a part of them. */
export type Body = ApiSchemas['HybridQuery'] & ApiSchemas['AnswerQuery']

export type SavedQuery = ApiSchemas['SavedQuery']
export type SavedKind = ApiSchemas['SavedQueryKind']
