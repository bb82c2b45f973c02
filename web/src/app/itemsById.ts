// Loads items by id when they are shown: names of workspaces, keys and actors that are not in the loaded lists.

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { api } from '@/api'

/** The maximum number of ids of one request, because the length of a URL is limited. */
export const MAX_IDS = 100

/** Items by id; null if an id does not exist. */
export type ItemsById<T> = ReadonlyMap<string, T | null>

/** Returns the ids to request next, sorted and without duplicates. Pure. */
export function missingIds<T>(ids: readonly string[], items: ItemsById<T>): string[] {
  return [...new Set(ids)]
    .filter((id) => id !== '' && !items.has(id))
    .slice(0, MAX_IDS)
    .sort()
}

/** Adds the result of a request to the items. If several results have one id, the first is used. Pure. */
export function mergeItems<T>(
  items: ItemsById<T>,
  requested: readonly string[],
  found: readonly T[],
  idOf: (item: T) => string,
): ItemsById<T> {
  const merged = new Map(items)
  for (const id of requested) merged.set(id, null)
  for (const item of found) if (merged.get(idOf(item)) === null) merged.set(idOf(item), item)
  return merged
}

/** Returns items of a list by id. Each id is requested once. */
export function useItemsById<T>(
  path: string,
  parameter: string,
  ids: readonly string[],
  idOf: (item: T) => string,
  query: Record<string, string> = {},
): ItemsById<T> {
  const [items, setItems] = useState<ItemsById<T>>(new Map())
  const requested = missingIds(ids, items)
  const answer = useQuery({
    queryKey: [path.slice(1), 'by', parameter, query, requested],
    queryFn: ({ signal }) => api.list<T>(path, { query: { ...query, [parameter]: requested }, signal }),
    staleTime: 60_000,
    enabled: requested.length > 0,
  })
  if (requested.length > 0 && answer.data) setItems(mergeItems(items, requested, answer.data.data, idOf))
  return items
}
