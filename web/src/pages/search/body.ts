// Request bodies of the form, without default values, and forms of the bodies of saved queries.

import { ENTITY_TYPES } from '../graph/model/types'
import { filtersText, readFilters, type Filters } from './filters'
import { DEFAULTS, MAX, usesGraph, type Form, type Mode } from './form'
import { timeOf } from './times'
import { FACETS, LANES, type Body, type SavedKind, type SavedQuery, type Scalar } from './types'

const KINDS: Record<Mode, SavedKind> = { search: 'search', hybrid: 'hybrid-search', answer: 'answer' }

/** Returns the kind of saved queries of a mode: the last part of its route. */
export const kindOf = (mode: Mode): SavedKind => KINDS[mode]

/** Returns the path below /api of a mode. */
export const pathOf = (mode: Mode) => `/rag/${KINDS[mode]}`

/** Returns the request body of a page of a search, or of an answer. */
export function bodyOf(form: Form, offset = 0): Body {
  const body: Body = { query: form.query }
  const set = (...names: (keyof Body & keyof Form)[]) => {
    for (const name of names) {
      const value = form[name]
      const isSet = Array.isArray(value) ? value.length > 0 : value !== DEFAULTS[name]
      if (isSet) Object.assign(body, { [name]: value })
    }
  }
  set('limit')
  if (offset > 0 && form.mode !== 'answer') body.offset = offset
  set('entityTypes', 'minScore')
  addFilters(body, form)
  if (form.rerank) body.rerank = rerankOf(form)
  if (form.mode !== 'answer') {
    set('includeContent')
    if (form.byDocument) body.groupBy = 'document'
    addFacets(body, form)
  }
  if (usesGraph(form.mode)) {
    set('hops', 'relationTypes', 'direction', 'nodeIds')
    const weights = LANES.filter((lane) => form.weights[lane] !== 1)
    if (weights.length > 0)
      body.weights = Object.fromEntries(weights.map((lane) => [lane, form.weights[lane]]))
    set('includeLiveData')
  }
  if (form.mode === 'hybrid') {
    if (form.explain) body.explain = true
    set('includeEdges')
  }
  if (form.mode === 'answer') {
    set('maxSentences')
    if (form.generate) body.mode = 'generate'
  }
  return body
}

function addFilters(body: Body, { properties, documents, tags, allTags, from, to }: Form): void {
  const read = readFilters(properties)
  if ('filters' in read) {
    const { equal, min, max, prefix } = read.filters
    if (equal.size > 0)
      body.properties = Object.fromEntries(
        [...equal].map(([key, values]) => [key, values.length === 1 ? (values[0] ?? '') : values]),
      )
    if (min.size > 0) body.propertyMin = Object.fromEntries(min)
    if (max.size > 0) body.propertyMax = Object.fromEntries(max)
    if (prefix.size > 0) body.propertyPrefix = Object.fromEntries(prefix)
  }
  if (documents.length > 0) body.documents = documents
  if (tags.length > 0) body.tags = tags
  if (allTags.length > 0) body.allTags = allTags
  const [start, end] = [timeOf(from), timeOf(to)]
  if (start !== undefined || end !== undefined) {
    body.timestamp = { ...(start !== undefined && { from: start }), ...(end !== undefined && { to: end }) }
  }
}

const rerankOf = ({ candidates, rerankWeight }: Form): NonNullable<Body['rerank']> => ({
  ...(candidates !== DEFAULTS.candidates && { candidates }),
  ...(rerankWeight !== DEFAULTS.rerankWeight && { weight: rerankWeight }),
})

function addFacets(body: Body, { facets, facetLimit, facetInterval }: Form): void {
  if (facets.length === 0) return
  body.facets = facets
  if (facetLimit !== DEFAULTS.facetLimit) body.facetLimit = facetLimit
  if (facetInterval !== '' && facets.includes('timestamp')) body.facetInterval = facetInterval
}

/** Returns the form of a saved query. What its request does not set has the defaults of the API. */
export function formOfSaved({ kind, request }: Pick<SavedQuery, 'kind' | 'request'>): Form {
  // The server has validated it as the body of the route.
  const body = request as unknown as Body
  return {
    ...DEFAULTS,
    ...definedOf(body),
    mode: MODES[kind],
    limit: Math.min(body.limit ?? DEFAULTS.limit, MAX.limit),
    entityTypes: ENTITY_TYPES.filter((type) => body.entityTypes?.includes(type)),
    properties: filtersText(filtersOf(body)),
    from: body.timestamp?.from ?? '',
    to: body.timestamp?.to ?? '',
    byDocument: body.groupBy === 'document',
    facets: FACETS.filter((name) => body.facets?.includes(name)),
    rerank: body.rerank != null,
    candidates: body.rerank?.candidates ?? DEFAULTS.candidates,
    rerankWeight: body.rerank?.weight ?? DEFAULTS.rerankWeight,
    weights: Object.fromEntries(
      LANES.map((lane) => [lane, body.weights?.[lane] ?? DEFAULTS.weights[lane]]),
    ) as Form['weights'],
    explain: body.explain ?? false,
    generate: body.mode === 'generate',
  }
}

const MODES: Record<SavedKind, Mode> = { search: 'search', 'hybrid-search': 'hybrid', answer: 'answer' }

/** The fields of a body that the form has with the same name and type. */
const SAME = [
  'query',
  'minScore',
  'documents',
  'tags',
  'allTags',
  'includeContent',
  'facetLimit',
  'facetInterval',
  'hops',
  'direction',
  'relationTypes',
  'nodeIds',
  'includeEdges',
  'includeLiveData',
  'maxSentences',
] as const satisfies readonly (keyof Body & keyof Form)[]

function definedOf(body: Body): Partial<Form> {
  const fields = SAME.filter((name) => body[name] != null).map((name) => {
    const value = body[name]
    return [name, Array.isArray(value) ? [...new Set<string>(value)] : value]
  })
  return Object.fromEntries(fields) as Partial<Form>
}

function filtersOf({ properties, propertyMin, propertyMax, propertyPrefix }: Body): Filters {
  const values = (value: Scalar | Scalar[]) => (Array.isArray(value) ? value : [value])
  return {
    equal: new Map(Object.entries(properties ?? {}).map(([key, value]) => [key, values(value)])),
    min: new Map(Object.entries(propertyMin ?? {})),
    max: new Map(Object.entries(propertyMax ?? {})),
    prefix: new Map(Object.entries(propertyPrefix ?? {})),
  }
}
