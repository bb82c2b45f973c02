// The state of the page in its URL: the filter, the page of the list, and what is open.

import { type ApiSchemas, MAX_TAG_LENGTH, MAX_TAGS, type Query } from '@/api'

export const DOCUMENTS_PER_PAGE = 50

/** The orders of the list; the first is the default. */
export const SORTS = [
  'created',
  'newest',
  'timestamp',
] as const satisfies readonly ApiSchemas['DocumentSort'][]
export type Sort = (typeof SORTS)[number]

export interface DocumentFilter {
  /** The exact external id. It excludes the other conditions. */
  externalId: string
  tags: readonly string[]
  /** Whether a document needs any or all of the tags. */
  match: 'any' | 'all'
  /** The timestamp of the document, in RFC 3339: at `from` or later, and before `to`. */
  from: string
  to: string
}

export const NO_FILTER: DocumentFilter = { externalId: '', tags: [], match: 'any', from: '', to: '' }

export interface View extends DocumentFilter {
  sort: Sort
  offset: number
  /** The id or external id of the open document. */
  open: string
  /** The dialog for uploads is open. */
  uploading: boolean
}

/** Reports whether a filter has a condition. */
export const isFiltered = (f: DocumentFilter) =>
  f.externalId !== '' || f.tags.length > 0 || f.from !== '' || f.to !== ''

/** Reads the state from the URL. Invalid values are ignored. */
export function readView(params: URLSearchParams): View {
  const offset = Number(params.get('offset'))
  const all = tagsOf(params.getAll('allTag'))
  return {
    externalId: params.get('externalId') ?? '',
    tags: all.length > 0 ? all : tagsOf(params.getAll('tag')),
    match: all.length > 0 || params.get('match') === 'all' ? 'all' : 'any',
    from: timeOf(params.get('from')),
    to: timeOf(params.get('to')),
    sort: SORTS.find((sort) => sort === params.get('sort')) ?? SORTS[0],
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
    open: params.get('id') ?? '',
    uploading: params.get('upload') === '1',
  }
}

function timeOf(text: string | null): string {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString()
}

/** Returns valid tags, each once. */
export function tagsOf(tags: readonly string[]): string[] {
  const valid = tags.filter((tag) => tag !== '' && [...tag].length <= MAX_TAG_LENGTH)
  return [...new Set(valid)].slice(0, MAX_TAGS)
}

/** Writes the state to a URL, without what is the default. */
export function writeView(view: View): URLSearchParams {
  const params = new URLSearchParams()
  if (view.externalId) params.set('externalId', view.externalId)
  for (const tag of view.tags) params.append(view.match === 'all' ? 'allTag' : 'tag', tag)
  if (view.match === 'all' && view.tags.length === 0) params.set('match', 'all')
  if (view.from) params.set('from', view.from)
  if (view.to) params.set('to', view.to)
  if (view.sort !== SORTS[0]) params.set('sort', view.sort)
  if (view.offset > 0) params.set('offset', String(view.offset))
  if (view.open) params.set('id', view.open)
  if (view.uploading) params.set('upload', '1')
  return params
}

/** Returns the filter after a change. An external id and other conditions replace each other. */
export function changeFilter(filter: DocumentFilter, change: Partial<DocumentFilter>): DocumentFilter {
  if (change.externalId) return { ...NO_FILTER, match: filter.match, externalId: change.externalId }
  const next = { ...filter, ...change }
  const narrows = isFiltered({ ...NO_FILTER, ...change, externalId: '' })
  return narrows ? { ...next, externalId: '' } : next
}

/** Returns the parameters of a list of documents. */
export function listQuery(f: DocumentFilter, sort: Sort, offset: number): Query {
  const page: Query = {
    limit: DOCUMENTS_PER_PAGE,
    offset: offset || null,
    sort: sort === SORTS[0] ? null : sort,
  }
  if (f.externalId) return { ...page, externalId: f.externalId }
  return {
    ...page,
    [f.match === 'all' ? 'allTag' : 'tag']: f.tags,
    timestampFrom: f.from,
    timestampTo: f.to,
  }
}
