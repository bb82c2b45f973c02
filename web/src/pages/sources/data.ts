// Requests of the source pages.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { api, type Query } from '@/api'
import { send } from '@/api/client'
import { useWorkspace } from '@/app/workspace'
import { durationMs } from '@/ui/spans'

import { type Pair, queryText } from './query'
import type { Meta, NewSource, PointRows, QueryMeta, Series, Source, SourcePatch } from './shapes'

const SOURCES = '/live-data/sources'
const pathOf = (id: string) => `${SOURCES}/${encodeURIComponent(id)}`

export interface SourceFilter {
  name: string
  tag: string
  sort: string
  offset: number
}

export const SOURCES_PER_PAGE = 50

/** Returns the parameters of a list of sources. A tag is `key=value`. */
export function sourceParams(f: SourceFilter): Query {
  const at = f.tag.indexOf('=')
  return {
    name: f.name,
    sort: f.sort,
    limit: SOURCES_PER_PAGE,
    offset: f.offset || undefined,
    ...(at > 0 && { [`tag.${f.tag.slice(0, at)}`]: f.tag.slice(at + 1) }),
  }
}

/** Fetches sources periodically, because their status changes over time. */
export function useSources(filter: SourceFilter) {
  const workspace = useWorkspace().id
  const query = sourceParams(filter)
  return useQuery({
    queryKey: ['sources', workspace, query],
    queryFn: ({ signal }) => api.list<Source>(SOURCES, { workspace, query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
  })
}

export function useSource(id: string, refetchInterval: number | false = 5_000) {
  const workspace = useWorkspace().id
  return useQuery({
    queryKey: ['source', workspace, id],
    queryFn: ({ signal }) => api.get<Source>(pathOf(id), { workspace, signal }),
    refetchInterval,
    staleTime: refetchInterval === false ? 60_000 : 0,
  })
}

/** Writes sources and fetches the lists of sources again. */
export function useSourceWrites() {
  const workspace = useWorkspace().id
  const client = useQueryClient()
  const changed = () =>
    Promise.all([
      client.invalidateQueries({ queryKey: ['sources', workspace] }),
      client.invalidateQueries({ queryKey: ['source', workspace] }),
      client.invalidateQueries({ queryKey: ['series', workspace] }),
    ])
  const create = useMutation({
    mutationFn: (body: NewSource) => api.postIdempotent<Source>(SOURCES, { workspace, body }),
    onSuccess: changed,
  })
  const change = useMutation({
    mutationFn: ({ id, patch }: { id: string; patch: SourcePatch }) =>
      api.patch<Source>(pathOf(id), { workspace, body: patch }),
    onSettled: changed,
  })
  const remove = useMutation({
    mutationFn: (id: string) => api.del(pathOf(id), { workspace }),
    onSuccess: (_nothing, id) => {
      client.removeQueries({ queryKey: ['source', workspace, id] })
      return client.invalidateQueries({ queryKey: ['sources', workspace] })
    },
  })
  const removePoints = useMutation({
    mutationFn: (query: { sourceId: string; metric: string; from: string; to: string }) =>
      api.del<{ checkpoint: string }>('/live-data/points', { workspace, query }),
    onSuccess: changed,
  })
  return { create, change, remove, removePoints }
}

export const SERIES_PER_PAGE = 50

export function useSeries(
  sourceIds: readonly string[],
  offset: number,
  limit = SERIES_PER_PAGE,
  enabled = true,
) {
  const workspace = useWorkspace().id
  const query = { sourceId: sourceIds, limit, offset: offset || undefined }
  return useQuery({
    queryKey: ['series', workspace, query],
    queryFn: ({ signal }) => api.list<Series>('/live-data/series', { workspace, query, signal }),
    placeholderData: keepPreviousData,
    staleTime: 30_000,
    enabled,
  })
}

// ---------------------------------------------------------------------- points

export interface Answer {
  data: PointRows[]
  meta: QueryMeta & Meta
  /** When the response was received, in milliseconds: the end of a relative range. */
  receivedAt: number
}

/** Converts pairs to a query: repeated names become a list. */
export function queryOf(pairs: readonly Pair[]): Query {
  const query: Record<string, string[]> = {}
  for (const [name, value] of pairs) (query[name] ??= []).push(value)
  return query
}

export async function askPoints(
  workspace: string,
  pairs: readonly Pair[],
  signal?: AbortSignal,
): Promise<Answer> {
  const query = queryOf([...pairs, ['epoch', 'us']])
  const list = await api.list<PointRows>('/live-data/query', { workspace, query, signal })
  return { ...(list as Omit<Answer, 'at'>), receivedAt: Date.now() }
}

/** Returns the response of the explorer's query. The previous response stays while the next one is loading. */
export function usePoints(pairs: readonly Pair[] | null, every: string) {
  const workspace = useWorkspace().id
  return useQuery({
    queryKey: ['points', workspace, queryText(pairs ?? [])],
    queryFn: ({ signal }) => askPoints(workspace, pairs ?? [], signal),
    enabled: pairs !== null,
    placeholderData: keepPreviousData,
    refetchInterval: durationMs(every) ?? false,
    staleTime: 0,
    gcTime: 60_000,
    retry: false,
  })
}

export interface Download {
  blob: Blob
  /** There are more points or series than the file contains. */
  more: boolean
}

/** Returns the response of a query as CSV. */
export async function askCSV(workspace: string, pairs: readonly Pair[]): Promise<Download> {
  const response = await send('GET', '/live-data/query', {
    workspace,
    query: queryOf([...pairs, ['format', 'csv']]),
    headers: { Accept: 'text/csv' },
  })
  return { blob: await response.blob(), more: response.headers.has('Link') }
}

/** Saves a file by the browser. */
export function saveFile(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob)
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  // The browser has read the URL by then.
  window.setTimeout(() => URL.revokeObjectURL(url), 60_000)
}
