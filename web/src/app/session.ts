// Who is logged in. The session itself is a cookie that no script can read.

import { type Query, useMutation, useQuery } from '@tanstack/react-query'

import { api, ApiError, type Session } from '@/api'
import { setCsrfToken, setSignedOutHandler, setStaleSessionHandler } from '@/api/client'

import { queryClient } from './queries'

const KEY = ['session'] as const

function take(session: Session | null): Session | null {
  setCsrfToken(session?.csrfToken ?? null)
  return session
}

async function ask(): Promise<Session | null> {
  try {
    return await api.get<Session>('/session')
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) return null
    throw error
  }
}

const load = async () => take(await ask())

/** The session; null: nobody is logged in. */
export function useSession() {
  return useQuery({ queryKey: KEY, queryFn: load, staleTime: 60_000, refetchOnWindowFocus: true })
}

/** All that only a session lets see. */
const BEHIND = { predicate: (query: Query) => query.queryKey[0] !== KEY[0] }

/** Forgets the session and everything that it let see. */
export function forget(): void {
  setCsrfToken(null)
  queryClient.setQueryData(KEY, null)
  queryClient.removeQueries(BEHIND)
}

setSignedOutHandler(forget)

let asking: Promise<Session | null> | undefined

/** Asks who is logged in: once, however many requests were refused. */
function askOnce(): Promise<Session | null> {
  asking ??= ask().finally(() => {
    asking = undefined
  })
  return asking
}

/**
 * Takes over the session that another tab has opened meanwhile. Where it is another operator's, a write that was asked
 * for is not done: it was not that one who asked. A read is done, and the next write reports it.
 */
async function renew(writes: boolean): Promise<void> {
  const now = await askOnce()
  if (!now) {
    forget()
    throw new ApiError(401, { message: 'Unauthorized' })
  }
  const before = queryClient.getQueryData<Session | null>(KEY)
  const other = before && before.operator.id !== now.operator.id
  if (other && !writes) return
  queryClient.setQueryData(KEY, take(now))
  if (other) {
    throw new ApiError(403, {
      message: `This browser is now logged in as ${now.operator.name}`,
      details: { reason: `No change was made. Repeat it as ${now.operator.name}, or log in again.` },
    })
  }
}

setStaleSessionHandler(renew)

export function useLogin() {
  return useMutation({
    mutationFn: (body: { name: string; password: string }) => api.post<Session>('/session', { body }),
    // The password, which is among its variables, is not kept.
    gcTime: 0,
    onSuccess: (session) => queryClient.setQueryData(KEY, take(session)),
  })
}

export function useLogout() {
  return useMutation({
    mutationFn: async () => {
      // What is being asked for would be answered after the session has ended, and refused.
      await queryClient.cancelQueries(BEHIND)
      await api.del('/session')
    },
    onSettled: forget,
  })
}

/** A change of password ends all sessions of the operator, and may answer with a new one. */
export function takeSession(session: Session | undefined): void {
  if (session?.csrfToken) queryClient.setQueryData(KEY, take(session))
  else forget()
}
