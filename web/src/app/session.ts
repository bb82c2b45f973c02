// The session of the operator. The session cookie is not readable by scripts.

import { focusManager, type Query, useMutation, useQuery } from '@tanstack/react-query'

import { api, ApiError, type Session } from '@/api'
import { setCsrfToken, setSignedOutHandler, setStaleSessionHandler } from '@/api/client'

import { queryClient } from './queries'

const KEY = ['session'] as const

function storeSession(session: Session | null): Session | null {
  setCsrfToken(session?.csrfToken ?? null)
  return session
}

async function fetchSession(): Promise<Session | null> {
  try {
    return await api.get<Session>('/session')
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

const load = async () => storeSession(await fetchSession())

/** Returns the query of the session; its data is null if nobody is logged in. */
export function useSession() {
  return useQuery({ queryKey: KEY, queryFn: load, staleTime: 60_000, refetchOnWindowFocus: true })
}

/** Matches all queries that require a session. */
const SESSION_QUERIES = { predicate: (query: Query) => query.queryKey[0] !== KEY[0] }

/** Removes the session and all data that was loaded with it. */
export function clearSession(): void {
  setCsrfToken(null)
  queryClient.setQueryData(KEY, null)
  // Queries are removed after the pages: a page that is still mounted would start them again.
  setTimeout(() => queryClient.removeQueries(SESSION_QUERIES))
}

setSignedOutHandler(clearSession)

let pendingFetch: Promise<Session | null> | undefined

/** Fetches the session. Concurrent calls share one request. */
function fetchSessionOnce(): Promise<Session | null> {
  pendingFetch ??= fetchSession().finally(() => {
    pendingFetch = undefined
  })
  return pendingFetch
}

/**
 * Uses the session that another tab has opened. If it belongs to another operator, a pending write is refused, because
 * that operator did not request it; a read is repeated, and the next write reports the change.
 */
async function refreshSession(writes: boolean): Promise<void> {
  const current = await fetchSessionOnce()
  if (!current) {
    clearSession()
    throw new ApiError(401, { message: 'Unauthorized' })
  }
  const previous = queryClient.getQueryData<Session | null>(KEY)
  const operatorChanged = previous && previous.operator.id !== current.operator.id
  if (operatorChanged && !writes) return
  queryClient.setQueryData(KEY, storeSession(current))
  if (operatorChanged) {
    throw new ApiError(403, {
      message: `This browser is now logged in as ${current.operator.name}`,
      details: { reason: `No change was made. Repeat it as ${current.operator.name}, or log in again.` },
    })
  }
}

setStaleSessionHandler(refreshSession)

export function useLogin() {
  return useMutation({
    mutationFn: (body: { name: string; password: string }) => api.post<Session>('/session', { body }),
    // The mutation is not cached, because its variables contain the password.
    gcTime: 0,
    onSuccess: (session) => queryClient.setQueryData(KEY, storeSession(session)),
  })
}

/** The mutation that ends the session. */
export const LOGOUT = {
  mutationFn: async () => {
    // Queries that run, or that an interval starts meanwhile, would be answered with an error after the session has
    // ended. Intervals start none without the focus.
    focusManager.setFocused(false)
    await queryClient.cancelQueries(SESSION_QUERIES)
    await api.del('/session')
  },
  onSettled: () => {
    clearSession()
    focusManager.setFocused(undefined)
  },
}

export function useLogout() {
  return useMutation(LOGOUT)
}

/**
 * Stores the new session after a change of password, which ends all sessions of the operator; clears it if there is
 * none.
 */
export function replaceSession(session: Session | undefined): void {
  if (session?.csrfToken) queryClient.setQueryData(KEY, storeSession(session))
  else clearSession()
}
