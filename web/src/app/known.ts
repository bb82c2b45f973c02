// What is asked for by its id when it is shown: names of workspaces, keys and actors beyond the lists that are loaded.

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { api } from '@/api'

/** Ids that are asked for at once: more would not pass in an address. */
export const MOST_IDS = 100

/** What is known by id; null: there is none. */
export type Known<T> = ReadonlyMap<string, T | null>

/** The ids that are to be asked for next, each once, sorted. Pure. */
export function unknownOf<T>(ids: readonly string[], known: Known<T>): string[] {
  return [...new Set(ids)]
    .filter((id) => id !== '' && !known.has(id))
    .slice(0, MOST_IDS)
    .sort()
}

/** What is known when an answer about ids has come. Of several with one id the first counts. Pure. */
export function learned<T>(
  known: Known<T>,
  asked: readonly string[],
  found: readonly T[],
  idOf: (one: T) => string,
): Known<T> {
  const more = new Map(known)
  for (const id of asked) more.set(id, null)
  for (const one of found) if (more.get(idOf(one)) === null) more.set(idOf(one), one)
  return more
}

/** Asks a list for those with certain ids, those alone that it was not asked for before. */
export function useKnown<T>(
  path: string,
  parameter: string,
  ids: readonly string[],
  idOf: (one: T) => string,
  query: Record<string, string> = {},
): Known<T> {
  const [known, setKnown] = useState<Known<T>>(new Map())
  const asked = unknownOf(ids, known)
  const answer = useQuery({
    queryKey: [path.slice(1), 'by', parameter, query, asked],
    queryFn: ({ signal }) => api.list<T>(path, { query: { ...query, [parameter]: asked }, signal }),
    staleTime: 60_000,
    enabled: asked.length > 0,
  })
  if (asked.length > 0 && answer.data) setKnown(learned(known, asked, answer.data.data, idOf))
  return known
}
