// Saved queries: requests to the API, and what they contain.

import { keepPreviousData, useQuery } from '@tanstack/react-query'

import { api, ApiError } from '@/api'

import { bodyOf, kindOf } from './body'
import type { Form } from './form'
import type { SavedKind, SavedQuery } from './types'

const QUERIES = '/rag/queries'

/** Limits of the API, in characters. */
export const MAX_NAME = 256
export const MAX_DESCRIPTION = 4096

/** Saved queries per page. */
export const PAGE = 50

/** Returns the path of a saved query. */
export const savedPath = (id: string) => `${QUERIES}/${encodeURIComponent(id)}`

/** The key of all queries of the saved queries of a workspace. */
export const savedKey = (workspace: string) => ['saved-queries', workspace] as const

export const KIND_LABELS: Record<SavedKind, string> = {
  search: 'Plain',
  'hybrid-search': 'Hybrid',
  answer: 'Answer',
}

/** Returns a page of the saved queries whose name contains a text, by name. */
export function useSavedQueries(workspace: string, name: string, offset: number) {
  const query = { name, offset, limit: PAGE, sort: 'name' }
  return useQuery({
    queryKey: [...savedKey(workspace), query],
    queryFn: ({ signal }) => api.list<SavedQuery>(QUERIES, { workspace, query, signal }),
    placeholderData: keepPreviousData,
  })
}

/** Returns the saved query with this name, or null if there is none. */
export async function findByName(workspace: string, name: string): Promise<SavedQuery | null> {
  for (let offset = 0; ; offset += 100) {
    // The filter matches parts of names, in upper or lower case.
    const query = { name, offset, limit: 100 }
    const { data, meta } = await api.list<SavedQuery>(QUERIES, { workspace, query })
    const found = data.find((saved) => saved.name === name)
    if (found || !meta.hasMore) return found ?? null
  }
}

/** The name and the description of a saved query. */
export interface Label {
  name: string
  description: string
}

/** Returns what is wrong with a name or a description. */
export function labelErrors({ name, description }: Label): Partial<Label> {
  return {
    ...(name.trim() === '' && { name: 'Enter a name.' }),
    ...([...name].length > MAX_NAME && { name: `At most ${MAX_NAME} characters.` }),
    ...([...description].length > MAX_DESCRIPTION && {
      description: `At most ${MAX_DESCRIPTION} characters.`,
    }),
  }
}

/** The result of a save: the saved query, or the existing one that has the name. */
export type Outcome = { saved: SavedQuery } | { taken: SavedQuery }

/** Saves a form under a new name. */
export async function create(workspace: string, label: Label, form: Form): Promise<Outcome> {
  const body = { ...label, kind: kindOf(form.mode), request: bodyOf(form) }
  try {
    return { saved: await api.postIdempotent<SavedQuery>(QUERIES, { workspace, body }) }
  } catch (error) {
    const taken = isTaken(error) ? await findByName(workspace, label.name) : null
    if (taken) return { taken }
    throw error
  }
}

/** Reports whether a request was refused because another saved query has the name. */
export const isTaken = (error: unknown) =>
  error instanceof ApiError &&
  error.status === 409 &&
  error.details.reason === 'already_exists' &&
  error.details.field === 'name'

/** Changes the name and the description. The request is refused if the query has another version. */
export const relabel = (workspace: string, saved: SavedQuery, label: Label) =>
  patch(workspace, saved, { name: label.name, description: label.description })

/** Replaces the request, and the name and the description. It is refused if the query has another version. */
export const replace = (workspace: string, saved: SavedQuery, label: Label, form: Form) =>
  patch(workspace, saved, {
    ...label,
    kind: kindOf(form.mode),
    request: mergePatch(saved.request, bodyOf(form)),
  })

const patch = (workspace: string, { id, version }: SavedQuery, change: object) =>
  api.patchIdempotent<SavedQuery>(savedPath(id), {
    workspace,
    body: { expectedVersion: version, ...change },
  })

/** Returns the merge patch (RFC 7396) from one object to another, in which nothing is null. */
export function mergePatch(before: object, after: object): Record<string, unknown> {
  const [from, to] = [new Map(Object.entries(before)), new Map<string, unknown>(Object.entries(after))]
  const removed = [...from.keys()].filter((key) => !to.has(key)).map((key) => [key, null])
  const changed = [...to]
    .filter(([key, value]) => JSON.stringify(from.get(key)) !== JSON.stringify(value))
    .map(([key, value]) => {
      const old: unknown = from.get(key)
      return [key, isObject(old) && isObject(value) ? mergePatch(old, value) : value]
    })
  return Object.fromEntries([...removed, ...changed]) as Record<string, unknown>
}

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
