import { environmentManager, MutationObserver, QueryObserver } from '@tanstack/react-query'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { api, type Session } from '@/api'
import { setCsrfToken } from '@/api/client'

import { queryClient } from './queries'
import { clearSession, LOGOUT } from './session'

type Answer = [status: number, data: unknown]

let sent: { method: string; path: string; token: string | null }[] = []
let answers: Record<string, Answer[]>

const session = (name: string, token: string): Session => ({
  operator: { id: name, name },
  csrfToken: token,
  expiresAt: '2030-01-01T00:00:00Z',
})

/** Returns the cached session. */
const storedSession = () => queryClient.getQueryData<Session | null>(['session'])

beforeEach(() => {
  sent = []
  answers = {}
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    const path = address.replace('/admin/api', '')
    sent.push({ method: init.method ?? '', path, token: new Headers(init.headers).get('X-CSRF-Token') })
    const list = answers[`${init.method} ${path}`] ?? []
    const next = list.length > 1 ? list.shift() : list[0]
    if (!next) throw new Error(`nothing is prepared for ${init.method} ${path}`)
    const [status, data] = next
    const body =
      status < 400 ? { success: true, data, requestId: 'r' } : { success: false, error: data, requestId: 'r' }
    return Promise.resolve(new Response(JSON.stringify(body), { status }))
  })
  queryClient.setQueryData(['session'], session('ada', 'old'))
  setCsrfToken('old')
})
afterEach(() => {
  vi.unstubAllGlobals()
  clearSession()
})

const unauthorized: Answer = [401, { code: 'AUTHENTICATION_ERROR', message: 'Unauthorized' }]
const stale: Answer = [
  403,
  { code: 'AUTHORIZATION_ERROR', message: 'Forbidden', details: { field: 'X-CSRF-Token' } },
]

describe('after a login in another tab', () => {
  it('sends refused reads again and requests the session once', async () => {
    answers = {
      'GET /keys': [unauthorized, [200, 'keys']],
      'GET /topics': [unauthorized, [200, 'topics']],
      'GET /session': [[200, session('ada', 'new')]],
    }
    expect(await Promise.all([api.get('/keys'), api.get('/topics')])).toEqual(['keys', 'topics'])
    expect(sent.filter(({ path }) => path === '/session')).toHaveLength(1)
    expect(storedSession()?.csrfToken).toBe('new')
  })

  it.each([['token', stale] as const, ['cookie', unauthorized] as const])(
    'sends a write again with the new token after its %s was refused',
    async (_, refusal) => {
      answers = { 'POST /keys': [refusal, [200, 'made']], 'GET /session': [[200, session('ada', 'new')]] }
      expect(await api.post('/keys', { body: {} })).toBe('made')
      expect(sent.map(({ token }) => token)).toEqual(['old', null, 'new'])
    },
  )

  it('completes a read and refuses the next write if the operator differs', async () => {
    answers = {
      'GET /keys': [unauthorized, [200, 'keys']],
      'POST /keys': [stale],
      'GET /session': [[200, session('eve', 'hers')]],
    }
    expect(await api.get('/keys')).toBe('keys')
    expect(storedSession()?.operator.name).toBe('ada')
    await expect(api.post('/keys', { body: {} })).rejects.toMatchObject({
      status: 403,
      message: 'This browser is now logged in as eve',
    })
    expect(sent.filter(({ method }) => method === 'POST')).toHaveLength(1)
    expect(storedSession()?.operator.name).toBe('eve')
  })
})

describe('after the session has ended', () => {
  it('clears the cached session', async () => {
    answers = { 'GET /keys': [unauthorized], 'GET /session': [unauthorized] }
    await expect(api.get('/keys')).rejects.toMatchObject({ status: 401 })
    expect(storedSession()).toBeNull()
    expect(sent).toHaveLength(2)
  })

  it('clears the cached session if the retry is refused as well', async () => {
    answers = { 'GET /keys': [unauthorized], 'GET /session': [[200, session('ada', 'new')]] }
    await expect(api.get('/keys')).rejects.toMatchObject({ status: 401 })
    expect(storedSession()).toBeNull()
    expect(sent).toHaveLength(3)
  })

  it('keeps the cached session if the server is unavailable', async () => {
    answers = {
      'GET /keys': [unauthorized],
      'GET /session': [[503, { code: 'UNAVAILABLE', message: 'away' }]],
    }
    await expect(api.get('/keys')).rejects.toMatchObject({ status: 503 })
    expect(storedSession()?.operator.name).toBe('ada')
  })

  it('removes the data of the session after its pages', async () => {
    queryClient.setQueryData(['keys'], 'keys')
    clearSession()
    expect(queryClient.getQueryData(['keys'])).toBe('keys')
    await vi.waitFor(() => expect(queryClient.getQueryData(['keys'])).toBeUndefined())
  })
})

describe('a logout', () => {
  it('starts no query while it is answered', async () => {
    vi.useFakeTimers()
    environmentManager.setIsServer(() => false) // on a server, intervals do not run
    let answered: () => void = () => undefined
    let polls = 0
    vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
      if (init.method === 'DELETE') await new Promise<void>((done) => (answered = done))
      else polls++
      return new Response(JSON.stringify({ success: true, data: 'x', requestId: address }))
    })
    const poll = new QueryObserver(queryClient, {
      queryKey: ['keys'],
      queryFn: () => api.get('/keys'),
      refetchInterval: 1000,
    })
    const stop = poll.subscribe(() => undefined)
    await vi.advanceTimersByTimeAsync(2500)
    expect(polls).toBe(3)
    const ended = new MutationObserver(queryClient, LOGOUT).mutate()
    await vi.advanceTimersByTimeAsync(5000)
    expect(polls).toBe(3)
    stop()
    answered()
    await ended
    expect(storedSession()).toBeNull()
    vi.useRealTimers()
  })
})
