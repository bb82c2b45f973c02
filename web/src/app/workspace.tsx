// The workspace that the pages of one workspace show: in the address (`?workspace=`), so that a link leads back to it.

import { useQuery } from '@tanstack/react-query'
import { createContext, useContext, useMemo, useState, type ReactNode } from 'react'
import { useSearchParams } from 'react-router'

import { api, ApiError, type Workspace } from '@/api'

export interface Workspaces {
  /** The one that is shown; null: there is none, or it is not known yet. */
  workspace: Workspace | null
  /** The id that the address names and nobody knows; null: it names none, or one that there is. */
  missing: string | null
  /** The first thousand. */
  workspaces: Workspace[]
  loading: boolean
  error: unknown
  retry: () => void
  select: (id: string) => void
}

const Context = createContext<Workspaces | null>(null)

/** Of react-query, for who changes workspaces: invalidate it. */
export const WORKSPACES = ['workspaces'] as const

export function WorkspaceProvider({ children }: { children: ReactNode }) {
  const [params, setParams] = useSearchParams()
  const [remembered, remember] = useState<string | null>(null)
  const list = useQuery({
    queryKey: [...WORKSPACES, 'all'],
    queryFn: ({ signal }) => api.list<Workspace>('/workspaces', { signal }),
  })
  const asked = params.get('workspace')
  const wanted = asked ?? remembered
  const known = list.data?.data
  const inList = known?.find((w) => w.id === wanted)
  // One beyond the first thousand, by a link.
  const single = useQuery({
    queryKey: [...WORKSPACES, wanted],
    queryFn: ({ signal }) =>
      api.get<Workspace>(`/workspaces/${encodeURIComponent(wanted ?? '')}`, { signal }),
    enabled: Boolean(wanted && known && !inList),
  })
  // What was known of it before it was deleted counts no more.
  const found = inList ?? (wanted && !isUnknown(single.error) ? single.data : undefined)
  // What an address names is shown or nothing is: never another in its place.
  const workspace = found ?? (asked ? undefined : known?.[0]) ?? null
  const missing = asked && !found && isUnknown(single.error) ? asked : null
  // It stays the one that is shown after a page whose address does not say.
  if (asked && found && found.id !== remembered) remember(found.id)
  const loading = list.isPending || Boolean(asked && !found && single.isLoading)
  const error = list.error ?? (asked && !found && !missing ? single.error : null)
  const { refetch: askList } = list
  const { refetch: askSingle } = single
  const value = useMemo<Workspaces>(
    () => ({
      workspace,
      missing,
      workspaces: known ?? [],
      loading,
      error,
      retry: () => void (known ? askSingle() : askList()),
      select: (id) => {
        remember(id)
        setParams((before) => {
          const after = new URLSearchParams(before)
          after.set('workspace', id)
          return after
        })
      },
    }),
    [workspace, missing, known, loading, error, askList, askSingle, setParams],
  )
  return <Context value={value}>{children}</Context>
}

/** Reports whether an error says that there is no such workspace: an id that is none is none of one, either. */
const isUnknown = (error: unknown) =>
  error instanceof ApiError && (error.status === 404 || error.status === 400 || error.status === 422)

/** All that is known of workspaces. */
export function useWorkspaces(): Workspaces {
  const workspaces = useContext(Context)
  if (!workspaces) throw new Error('useWorkspaces outside of WorkspaceProvider')
  return workspaces
}

const CurrentContext = createContext<Workspace | null>(null)
export const CurrentWorkspace = CurrentContext.Provider

/** The workspace of a page that is inside one: `api.get('/queries/nodes', { workspace: useWorkspace().id })`. */
export function useWorkspace(): Workspace {
  const workspace = useContext(CurrentContext)
  if (!workspace) throw new Error('useWorkspace in a page that is not in a workspace')
  return workspace
}
