// The form of the playground: its fields, their defaults and limits.

import { MAX_TAG_LENGTH, MAX_TAGS } from '@/api'

import type { Direction, EntityType } from '../graph/model/types'
import { readFilters } from './filters'
import { rangeErrors } from './times'
import { LANES, type FacetName, type Interval, type Lane } from './types'

export type Mode = 'search' | 'hybrid' | 'answer'

export interface Form {
  mode: Mode
  query: string
  limit: number
  entityTypes: EntityType[]
  minScore: number
  /** One condition per line: `site = north`, `kW >= 10`. */
  properties: string
  /** The ids of the documents in which is searched; empty: all. */
  documents: string[]
  /** Documents with one of these tags. */
  tags: string[]
  /** Documents with each of these tags. */
  allTags: string[]
  /** The range of timestamps of documents, as typed; empty: no limit. */
  from: string
  to: string
  includeContent: boolean
  /** Only the best passage of each document. */
  byDocument: boolean
  facets: FacetName[]
  facetLimit: number
  /** Empty: chosen by the server. */
  facetInterval: Interval | ''
  rerank: boolean
  candidates: number
  rerankWeight: number
  hops: number
  direction: Direction
  relationTypes: string[]
  nodeIds: string[]
  weights: Record<Lane, number>
  explain: boolean
  includeEdges: boolean
  includeLiveData: boolean
  /** The answer is written by a chat model, not quoted. */
  generate: boolean
  maxSentences: number
}

/** The values of an empty form. Except for `explain`, they are the defaults of the API. */
export const DEFAULTS: Form = {
  mode: 'hybrid',
  query: '',
  limit: 10,
  entityTypes: [],
  minScore: 0,
  properties: '',
  documents: [],
  tags: [],
  allTags: [],
  from: '',
  to: '',
  includeContent: false,
  byDocument: false,
  facets: [],
  facetLimit: 10,
  facetInterval: '',
  rerank: false,
  candidates: 20,
  rerankWeight: 0.5,
  hops: 2,
  direction: 'both',
  relationTypes: [],
  nodeIds: [],
  weights: { text: 1, vector: 1, graph: 1 },
  explain: true,
  includeEdges: false,
  includeLiveData: false,
  generate: false,
  maxSentences: 3,
}

/** Limits of the API. */
export const MAX = {
  query: 8192,
  /** Characters of a query that a model reads. */
  modelQuery: 1000,
  limit: 100,
  /** Items of a list. */
  items: 100,
  relationType: 128,
  tags: MAX_TAGS,
  tag: MAX_TAG_LENGTH,
  facetLimit: 50,
  candidates: 100,
  hops: 3,
  sentences: 10,
} as const

/** The results per page that can be selected. */
export const LIMITS = [5, 10, 20, 50, 100] as const

/** Reports whether the mode uses edges. */
export const usesGraph = (mode: Mode) => mode !== 'search'

/** The fields that may have an error. */
export type FormErrors = Partial<
  Record<
    | 'query'
    | 'properties'
    | 'documents'
    | 'tags'
    | 'allTags'
    | 'from'
    | 'to'
    | 'weights'
    | 'relationTypes'
    | 'nodeIds',
    string
  >
>

/** The form of an id. */
export const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Validates a form. An empty result means that it can be sent. */
export function checkForm(form: Form): FormErrors {
  const filters = readFilters(form.properties)
  const found: Record<string, string | undefined> = {
    query: queryError(form),
    properties: 'wrong' in filters ? filters.wrong : undefined,
    documents: idsError(form.documents, 'document'),
    tags: listError('tags', form.tags, MAX.tags, MAX.tag),
    allTags: listError('tags', form.allTags, MAX.tags, MAX.tag),
    ...rangeErrors(form.from, form.to),
    ...(usesGraph(form.mode) && graphErrors(form)),
  }
  return Object.fromEntries(Object.entries(found).filter(([, error]) => error !== undefined))
}

function queryError({ mode, query, generate, rerank }: Form): string | undefined {
  if (query.trim() === '') return mode === 'answer' ? 'Enter a question.' : 'Enter a query.'
  const length = [...query].length
  if (length > MAX.query) return `At most ${MAX.query} characters.`
  if (length <= MAX.modelQuery) return undefined
  if (mode === 'answer' && generate) return `At most ${MAX.modelQuery} characters for a chat model.`
  return rerank ? `At most ${MAX.modelQuery} characters with reranking.` : undefined
}

function graphErrors({ weights, relationTypes, nodeIds }: Form) {
  return {
    weights: LANES.every((lane) => weights[lane] === 0) ? 'At least one weight must be above 0.' : undefined,
    relationTypes: listError('relations', relationTypes, MAX.items, MAX.relationType),
    nodeIds: idsError(nodeIds, 'node'),
  }
}

function idsError(ids: readonly string[], of: 'document' | 'node'): string | undefined {
  const notAnId = ids.find((id) => !UUID.test(id))
  if (notAnId !== undefined) return `“${notAnId.slice(0, 60)}” is not a ${of} id.`
  return listError('ids', ids, MAX.items, MAX.items)
}

/** Returns what is wrong with a list of texts. */
function listError(what: string, items: readonly string[], max: number, length: number): string | undefined {
  if (items.length > max) return `At most ${max} ${what}.`
  const long = items.find((item) => [...item].length > length)
  return long && `“${long.slice(0, 30)}…” has more than ${length} characters.`
}

/** Returns the number of filters that are set. The documents are not among them: they are above the filters. */
export function filterCount(form: Form): number {
  const conditions = form.properties.split('\n').filter((line) => line.trim() !== '').length
  const set = [
    form.entityTypes.length,
    form.tags.length,
    form.allTags.length,
    form.from,
    form.to,
    form.minScore,
  ]
  return conditions + set.filter(Boolean).length
}
