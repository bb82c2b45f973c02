// The selected workspace. It is part of the URL (`?workspace=`), so that links contain it.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createContext, useContext, useMemo, useState, type ReactNode } from 'react'
import { useSearchParams } from 'react-router'

import { api, ApiError, type Workspace } from '@/api'

import { filterWorkspaces } from './choices'
import { useItemsById, type ItemsById } from './itemsById'

export interface Workspaces {
  /** The selected workspace; null if there is none or it is not loaded yet. */
  workspace: Workspace | null
  /** The id in the URL that does not exist; null otherwise. */
  missing: string | null
  /** The first thousand. */
  workspaces: Workspace[]
  /** The total number of workspaces. */
  total: number
  loading: boolean
  error: unknown
  retry: () => void
  select: (id: string) => void
}

const Context = createContext<Workspaces | null>(null)

/** The query key. Invalidate it after a change of workspaces. */
export const WORKSPACES = ['workspaces'] as const

export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const [params, setParams] = useSearchParams()
  const [rememberedId, setRememberedId] = useState<string | null>(null)
  const list = useQuery({
    queryKey: [...WORKSPACES, 'all'],
    queryFn: ({ signal }) => api.list<Workspace>('/workspaces', { signal }),
  })
  const requestedId = params.get('workspace')
  const selectedId = requestedId ?? rememberedId
  const loaded = list.data?.data
  const total = list.data?.meta.total ?? 0
  const inList = loaded?.find((w) => w.id === selectedId)
  // Workspaces beyond the first thousand are loaded individually.
  const single = useQuery({
    queryKey: [...WORKSPACES, selectedId],
    queryFn: ({ signal }) =>
      api.get<Workspace>(`/workspaces/${encodeURIComponent(selectedId ?? '')}`, { signal }),
    enabled: Boolean(selectedId && loaded && !inList),
  })
  // A cached workspace is not used after its deletion.
  const found = inList ?? (selectedId && !isNotFound(single.error) ? single.data : undefined)
  // If the workspace of the URL does not exist, no other workspace is shown.
  const workspace = found ?? (requestedId ? undefined : loaded?.[0]) ?? null
  const missing = requestedId && !found && isNotFound(single.error) ? requestedId : null
  // It stays selected on pages whose URL does not name a workspace.
  if (requestedId && found && found.id !== rememberedId) setRememberedId(found.id)
  const loading = list.isPending || Boolean(requestedId && !found && single.isLoading)
  const error = list.error ?? (requestedId && !found && !missing ? single.error : null)
  const { refetch: refetchList } = list
  const { refetch: refetchSingle } = single
  const value = useMemo<Workspaces>(
    () => ({
      workspace,
      missing,
      workspaces: loaded ?? [],
      total,
      loading,
      error,
      retry: () => void (loaded ? refetchSingle() : refetchList()),
      select: (id) => {
        setRememberedId(id)
        setParams((before) => {
          const after = new URLSearchParams(before)
          after.set('workspace', id)
          return after
        })
      },
    }),
    [workspace, missing, loaded, total, loading, error, refetchList, refetchSingle, setParams],
  )
  return <Context value={value}>{children}</Context>
}

/** Reports whether an error means that the workspace does not exist. An invalid id is treated the same. */
const isNotFound = (error: unknown) =>
  error instanceof ApiError && (error.status === 404 || error.status === 400 || error.status === 422)

/** Returns the workspaces and the selection. */
export function useWorkspaces(): Workspaces {
  const workspaces = useContext(Context)
  if (!workspaces) throw new Error('useWorkspaces outside of WorkspaceProvider')
  return workspaces
}

/** The maximum number of listed workspaces. The others are found by name. */
const MAX_CHOICES = 100

export interface Choices {
  /** Without a text the oldest workspaces; otherwise those whose name contains it or whose id it is. */
  choices: readonly Workspace[]
  /** There are more workspaces than are listed without a text. */
  hasMore: boolean
}

/** Returns the workspaces that match a text. The previous result stays while the next one is loading. */
export function useWorkspaceChoices(text: string): Choices {
  const { workspaces, total } = useWorkspaces()
  const name = text.trim()
  const complete = workspaces.length >= total
  const found = useQuery({
    queryKey: [...WORKSPACES, 'named', name],
    queryFn: ({ signal }) =>
      api.list<Workspace>('/workspaces', { query: { name, limit: MAX_CHOICES }, signal }),
    placeholderData: keepPreviousData,
    enabled: name !== '' && !complete,
  })
  const choices = useMemo(
    () =>
      (name === '' || complete ? filterWorkspaces(workspaces, name) : (found.data?.data ?? [])).slice(
        0,
        MAX_CHOICES,
      ),
    [workspaces, name, complete, found.data],
  )
  return { choices, hasMore: total > MAX_CHOICES }
}

/** Returns workspaces by id: those of the list, and the others by request. */
export function useWorkspacesById(ids: readonly string[]): ItemsById<Workspace> {
  const { workspaces, loading } = useWorkspaces()
  const listed = useMemo(() => new Map(workspaces.map((w) => [w.id, w])), [workspaces])
  const unlisted = loading ? [] : ids.filter((id) => !listed.has(id))
  const fetched = useItemsById<Workspace>('/workspaces', 'id', unlisted, (w) => w.id)
  return useMemo(() => new Map<string, Workspace | null>([...fetched, ...listed]), [fetched, listed])
}

/** Returns the name of a workspace; undefined if it is unknown. */
export function useWorkspaceNames(
  ids: readonly (string | null | undefined)[],
): (id: string) => string | undefined {
  const known = useWorkspacesById(ids.filter((id): id is string => Boolean(id)))
  return useMemo(() => (id) => known.get(id)?.name, [known])
}

const CurrentContext = createContext<Workspace | null>(null)
export const CurrentWorkspace = CurrentContext.Provider

/** Returns the workspace of the page: `api.get('/queries/nodes', { workspace: useWorkspace().id })`. */
export function useWorkspace(): Workspace {
  const workspace = useContext(CurrentContext)
  if (!workspace) throw new Error('useWorkspace in a page that is not in a workspace')
  return workspace
}
