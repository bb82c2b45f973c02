// The form in the URL of the page, so that a search can be shared and survives a reload.

import { ENTITY_TYPES } from '../graph/model/types'
import { DEFAULTS, MAX, type Form } from './form'
import { FACETS, INTERVALS, LANES } from './types'

/** The names of lists in the URL, where a name is repeated for each item. */
const LISTS = {
  type: 'entityTypes',
  document: 'documents',
  tag: 'tags',
  allTag: 'allTags',
  facet: 'facets',
  relation: 'relationTypes',
  node: 'nodeIds',
} as const satisfies Record<string, keyof Form>

/** The fields with the same name in the URL. */
const PLAIN = [
  'mode',
  'limit',
  'minScore',
  'properties',
  'from',
  'to',
  'includeContent',
  'byDocument',
  'facetLimit',
  'facetInterval',
  'rerank',
  'candidates',
  'rerankWeight',
  'hops',
  'direction',
  'explain',
  'includeEdges',
  'includeLiveData',
  'generate',
  'maxSentences',
] as const satisfies readonly (keyof Form)[]

type Flag = { [K in keyof Form]: Form[K] extends boolean ? K : never }[keyof Form]
type Amount = { [K in keyof Form]: Form[K] extends number ? K : never }[keyof Form]

/** Reads the form from the URL of the page. Invalid values are replaced by defaults. */
export function formOf(params: URLSearchParams): Form {
  const flag = (name: Flag) => {
    const text = params.get(name)
    return text === null ? DEFAULTS[name] : text === 'true'
  }
  const whole = (name: Amount, low: number, high: number) =>
    Math.round(numberOf(params.get(name), DEFAULTS[name], low, high))
  const share = (name: string, fallback: number) => numberOf(params.get(name), fallback, 0, 1)
  const text = (name: 'properties' | 'from' | 'to') => params.get(name) ?? ''
  const list = (name: keyof typeof LISTS) => [...new Set(params.getAll(name))]
  return {
    mode: oneOf(params.get('mode'), ['search', 'hybrid', 'answer'], DEFAULTS.mode),
    query: (params.get('q') ?? '').slice(0, MAX.query),
    limit: whole('limit', 1, MAX.limit),
    entityTypes: ENTITY_TYPES.filter((type) => list('type').includes(type)),
    minScore: share('minScore', DEFAULTS.minScore),
    properties: text('properties'),
    documents: list('document').slice(0, MAX.items),
    tags: list('tag').slice(0, MAX.tags),
    allTags: list('allTag').slice(0, MAX.tags),
    from: text('from'),
    to: text('to'),
    includeContent: flag('includeContent'),
    byDocument: flag('byDocument'),
    facets: FACETS.filter((name) => list('facet').includes(name)),
    facetLimit: whole('facetLimit', 1, MAX.facetLimit),
    facetInterval: oneOf(params.get('facetInterval'), INTERVALS, ''),
    rerank: flag('rerank'),
    candidates: whole('candidates', 1, MAX.candidates),
    rerankWeight: share('rerankWeight', DEFAULTS.rerankWeight),
    hops: whole('hops', 0, MAX.hops),
    direction: oneOf(params.get('direction'), ['in', 'out'], 'both'),
    relationTypes: list('relation').slice(0, MAX.items),
    nodeIds: list('node').slice(0, MAX.items),
    weights: { text: share('text', 1), vector: share('vector', 1), graph: share('graph', 1) },
    explain: flag('explain'),
    includeEdges: flag('includeEdges'),
    includeLiveData: flag('includeLiveData'),
    generate: flag('generate'),
    maxSentences: whole('maxSentences', 1, MAX.sentences),
  }
}

function numberOf(text: string | null, fallback: number, low: number, high: number): number {
  const n = text === null || text.trim() === '' ? NaN : Number(text)
  return Number.isFinite(n) ? Math.min(high, Math.max(low, n)) : fallback
}

function oneOf<T extends string, F extends string>(text: string | null, allowed: readonly T[], fallback: F) {
  return allowed.find((value) => value === text) ?? fallback
}

/** Writes the form to the URL of the page and keeps its other parameters. */
export function paramsOf(form: Form, existing: URLSearchParams = new URLSearchParams()): URLSearchParams {
  const params = new URLSearchParams(existing)
  const set = (name: string, value: string | number | boolean, fallback: string | number | boolean) => {
    if (value === fallback) params.delete(name)
    else params.set(name, String(value))
  }
  set('q', form.query, DEFAULTS.query)
  for (const name of PLAIN) set(name, form[name], DEFAULTS[name])
  for (const lane of LANES) set(lane, form.weights[lane], DEFAULTS.weights[lane])
  for (const [name, field] of Object.entries(LISTS)) {
    params.delete(name)
    for (const value of form[field]) params.append(name, value)
  }
  return params
}
