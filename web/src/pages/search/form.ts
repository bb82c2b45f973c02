// The form of the playground. It is stored in the URL of the page, so that a search can be shared and survives a
// reload, and converted to a request body without default values.

import { ENTITY_TYPES, type Direction, type EntityType } from '../graph/model/types'
import { LANES, type HybridBody, type Lane, type Scalar, type SearchBody } from './types'

export type Mode = 'search' | 'hybrid'

export interface Form {
  mode: Mode
  query: string
  limit: number
  entityTypes: EntityType[]
  minScore: number
  /** One filter per line: `site = north`. */
  properties: string
  includeContent: boolean
  hops: number
  direction: Direction
  relationTypes: string[]
  nodeIds: string[]
  weights: Record<Lane, number>
  explain: boolean
  includeEdges: boolean
  includeLiveData: boolean
}

export const DEFAULTS: Form = {
  mode: 'hybrid',
  query: '',
  limit: 10,
  entityTypes: [],
  minScore: 0,
  properties: '',
  includeContent: false,
  hops: 2,
  direction: 'both',
  relationTypes: [],
  nodeIds: [],
  weights: { text: 1, vector: 1, graph: 1 },
  explain: true,
  includeEdges: false,
  includeLiveData: false,
}

export const LIMITS = [5, 10, 20, 50, 100] as const
const MAX_QUERY = 8192

/** Reads the form from the URL of the page. Invalid values are replaced by defaults. */
export function formOf(params: URLSearchParams): Form {
  const number = (name: string, fallback: number, low: number, high: number) => {
    const n = Number(params.get(name) ?? NaN)
    return Number.isFinite(n) ? Math.min(high, Math.max(low, n)) : fallback
  }
  const flag = (name: 'includeContent' | 'explain' | 'includeEdges' | 'includeLiveData') => {
    const text = params.get(name)
    return text === null ? DEFAULTS[name] : text === 'true'
  }
  const direction = params.get('direction')
  return {
    mode: params.get('mode') === 'search' ? 'search' : 'hybrid',
    query: (params.get('q') ?? '').slice(0, MAX_QUERY),
    limit: Math.round(number('limit', DEFAULTS.limit, 1, 100)),
    entityTypes: ENTITY_TYPES.filter((type) => params.getAll('type').includes(type)),
    minScore: number('minScore', 0, 0, 1),
    properties: params.get('properties') ?? '',
    includeContent: flag('includeContent'),
    hops: Math.round(number('hops', DEFAULTS.hops, 0, 3)),
    direction: direction === 'in' || direction === 'out' ? direction : 'both',
    relationTypes: [...new Set(params.getAll('relation'))].slice(0, 100),
    nodeIds: [...new Set(params.getAll('node'))].slice(0, 100),
    weights: {
      text: number('text', 1, 0, 1),
      vector: number('vector', 1, 0, 1),
      graph: number('graph', 1, 0, 1),
    },
    explain: flag('explain'),
    includeEdges: flag('includeEdges'),
    includeLiveData: flag('includeLiveData'),
  }
}

/** Writes the form to the URL of the page and keeps its other parameters. */
export function paramsOf(form: Form, existing: URLSearchParams = new URLSearchParams()): URLSearchParams {
  const params = new URLSearchParams(existing)
  const set = (name: string, value: string | number | boolean, fallback: string | number | boolean) => {
    if (value === fallback) params.delete(name)
    else params.set(name, String(value))
  }
  const list = (name: string, values: readonly string[]) => {
    params.delete(name)
    for (const value of values) params.append(name, value)
  }
  set('mode', form.mode, DEFAULTS.mode)
  set('q', form.query, '')
  for (const name of ['limit', 'minScore', 'properties', 'includeContent', 'hops', 'direction'] as const) {
    set(name, form[name], DEFAULTS[name])
  }
  for (const name of ['explain', 'includeEdges', 'includeLiveData'] as const)
    set(name, form[name], DEFAULTS[name])
  for (const lane of LANES) set(lane, form.weights[lane], 1)
  list('type', form.entityTypes)
  list('relation', form.relationTypes)
  list('node', form.nodeIds)
  return params
}

export interface FormErrors {
  query?: string
  properties?: string
  weights?: string
  nodeIds?: string
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i

/** Validates a form. An empty result means that it can be sent. */
export function checkForm(form: Form): FormErrors {
  const errors: FormErrors = {}
  if (form.query.trim() === '') errors.query = 'Enter a query.'
  const filters = readFilters(form.properties)
  if ('wrong' in filters) errors.properties = filters.wrong
  if (form.mode === 'hybrid') {
    if (LANES.every((lane) => form.weights[lane] === 0))
      errors.weights = 'At least one weight must be above 0.'
    const bad = form.nodeIds.find((id) => !UUID.test(id))
    if (bad !== undefined) errors.nodeIds = `“${bad.slice(0, 60)}” is not a node id.`
  }
  return errors
}

/**
 * Parses property filters: one `key = value` per line. A value is parsed as JSON if it is a number, true, false or a
 * quoted string, otherwise as text; several values in brackets, separated by commas, match any of them. A repeated key
 * matches any of its values.
 */
export function readFilters(text: string): { filters: Map<string, Scalar[]> } | { wrong: string } {
  const filters = new Map<string, Scalar[]>()
  for (const line of text.split('\n')) {
    if (line.trim() === '') continue
    const at = line.indexOf('=')
    const key = line.slice(0, at).trim()
    if (at < 0 || key === '')
      return { wrong: `“${line.trim().slice(0, 60)}” is not a filter. Use key = value.` }
    const values = readValues(line.slice(at + 1).trim())
    if (values.length === 0) return { wrong: `“${key.slice(0, 60)}” has no value.` }
    filters.set(key, [...(filters.get(key) ?? []), ...values])
  }
  if (filters.size > 32) return { wrong: 'At most 32 properties at a time.' }
  return { filters }
}

function readValues(text: string): Scalar[] {
  if (text === '') return []
  const parsed = readJson(text)
  if (Array.isArray(parsed)) return parsed.filter(isScalar)
  return [isScalar(parsed) ? parsed : text]
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function isScalar(value: unknown): value is Scalar {
  return (
    typeof value === 'string' ||
    typeof value === 'boolean' ||
    (typeof value === 'number' && Number.isFinite(value))
  )
}

/** Returns the path below /api of the search mode. */
export const pathOf = (mode: Mode) => (mode === 'hybrid' ? '/rag/hybrid-search' : '/rag/search')

/** Returns the request body of a page of a search. */
export function bodyOf(form: Form, offset = 0): SearchBody | HybridBody {
  const body: HybridBody = { query: form.query }
  if (form.limit !== DEFAULTS.limit) body.limit = form.limit
  if (offset > 0) body.offset = offset
  if (form.entityTypes.length > 0) body.entityTypes = form.entityTypes
  if (form.minScore > 0) body.minScore = form.minScore
  const read = readFilters(form.properties)
  if ('filters' in read && read.filters.size > 0) {
    body.properties = Object.fromEntries(
      [...read.filters].map(([key, values]) => [key, values.length === 1 ? (values[0] ?? '') : values]),
    )
  }
  if (form.includeContent) body.includeContent = true
  if (form.mode === 'hybrid') addHybrid(body, form)
  return body
}

function addHybrid(body: HybridBody, form: Form): void {
  if (form.hops !== DEFAULTS.hops) body.hops = form.hops
  if (form.relationTypes.length > 0) body.relationTypes = form.relationTypes
  if (form.direction !== 'both') body.direction = form.direction
  if (form.nodeIds.length > 0) body.nodeIds = form.nodeIds
  const weights = Object.fromEntries(
    LANES.filter((lane) => form.weights[lane] !== 1).map((lane) => [lane, form.weights[lane]]),
  )
  if (Object.keys(weights).length > 0) body.weights = weights
  if (form.explain) body.explain = true
  if (form.includeEdges) body.includeEdges = true
  if (form.includeLiveData) body.includeLiveData = true
}
