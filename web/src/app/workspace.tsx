// The workspace that the pages of one workspace show: in the address (`?workspace=`), so that a link leads back to it.

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { createContext, useContext, useMemo, useState, type ReactNode } from 'react'
import { useSearchParams } from 'react-router'

import { api, ApiError, type Workspace } from '@/api'

import { called } from './choices'
import { useKnown, type Known } from './known'

export interface Workspaces {
  /** The one that is shown; null: there is none, or it is not known yet. */
  workspace: Workspace | null
  /** The id that the address names and nobody knows; null: it names none, or one that there is. */
  missing: string | null
  /** The first thousand. */
  workspaces: Workspace[]
  /** How many there are. */
  total: number
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
  const total = list.data?.meta.total ?? 0
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
      total,
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
    [workspace, missing, known, total, loading, error, askList, askSingle, setParams],
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

/** Workspaces that one chooses among; the others are found by their names. */
const CHOICES = 100

export interface Choices {
  /** Without a text the oldest; else those whose name has it, or whose id it is. */
  choices: readonly Workspace[]
  /** There are more than are shown without a text. */
  many: boolean
}

/** What a choice of a workspace offers when a text is typed. While another text is asked for, the one before stays. */
export function useWorkspaceChoices(text: string): Choices {
  const { workspaces, total } = useWorkspaces()
  const name = text.trim()
  const all = workspaces.length >= total
  const found = useQuery({
    queryKey: [...WORKSPACES, 'named', name],
    queryFn: ({ signal }) => api.list<Workspace>('/workspaces', { query: { name, limit: CHOICES }, signal }),
    placeholderData: keepPreviousData,
    enabled: name !== '' && !all,
  })
  const choices = useMemo(
    () => (name === '' || all ? called(workspaces, name) : (found.data?.data ?? [])).slice(0, CHOICES),
    [workspaces, name, all, found.data],
  )
  return { choices, many: total > CHOICES }
}

/** Workspaces by their ids: those of the list, and each other that is asked for. */
export function useWorkspacesById(ids: readonly string[]): Known<Workspace> {
  const { workspaces, loading } = useWorkspaces()
  const listed = useMemo(() => new Map(workspaces.map((w) => [w.id, w])), [workspaces])
  const asked = loading ? [] : ids.filter((id) => !listed.has(id))
  const others = useKnown<Workspace>('/workspaces', 'id', asked, (w) => w.id)
  return useMemo(() => new Map<string, Workspace | null>([...others, ...listed]), [others, listed])
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

/** The workspace of a page that is inside one: `api.get('/queries/nodes', { workspace: useWorkspace().id })`. */
export function useWorkspace(): Workspace {
  const workspace = useContext(CurrentContext)
  if (!workspace) throw new Error('useWorkspace in a page that is not in a workspace')
  return workspace
}
