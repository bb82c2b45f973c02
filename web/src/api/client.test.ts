import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { api, ApiError, setCsrfToken, setSignedOutHandler, setStaleSessionHandler, url } from './client'

let sent: { url: string; init: RequestInit; headers: Headers }[] = []
let answer: () => Response | Promise<Response>

beforeEach(() => {
  sent = []
  setStaleSessionHandler(() => Promise.resolve()) // the session's module may have set its own
  vi.stubGlobal('fetch', async (address: string, init: RequestInit) => {
    sent.push({ url: address, init, headers: new Headers(init.headers) })
    return Promise.resolve(answer())
  })
})
afterEach(() => {
  vi.unstubAllGlobals()
  setCsrfToken(null)
})

const envelope = (body: unknown, init?: ResponseInit) => () => new Response(JSON.stringify(body), init)

describe('a request', () => {
  it('returns the data of the envelope', async () => {
    answer = envelope({ success: true, data: { id: 'x' }, requestId: 'req_1' })
    expect(await api.get('/workspaces/x')).toEqual({ id: 'x' })
    expect(sent[0]?.url).toBe('/admin/api/workspaces/x')
  })

  it('reports whether a failed write may have been applied', async () => {
    for (const [status, unknown] of [
      [400, false],
      [408, true],
      [409, false],
      [502, true],
      [503, true],
    ] as const) {
      answer = envelope({ error: { code: 'CODE', message: 'said' } }, { status })
      const write: unknown = await api.post('/keys', {}).catch((e: unknown) => e)
      expect(write).toMatchObject({ status, outcomeUnknown: unknown })
      const read: unknown = await api.get('/keys').catch((e: unknown) => e)
      expect(read).toMatchObject({ status, outcomeUnknown: false })
    }
  })

  it('returns a list with its meta', async () => {
    answer = envelope({
      success: true,
      data: [1],
      meta: { total: 1, limit: 50, offset: 0, hasMore: false },
      requestId: 'r',
    })
    const list = await api.list('/keys')
    expect(list.data).toEqual([1])
    expect(list.meta.total).toBe(1)
  })

  it('returns nothing for 204', async () => {
    answer = () => new Response(null, { status: 204 })
    await expect(api.del('/keys/x')).resolves.toBeUndefined()
  })

  it('sends the CSRF token with writes only, and the workspace and the body only if given', async () => {
    setCsrfToken('token')
    answer = envelope({ success: true, data: null, requestId: 'r' })
    await api.get('/x', { workspace: 'w' })
    await api.post('/x', { body: { a: 1 } })
    await api.del('/x')
    expect(sent.map((s) => s.headers.get('X-CSRF-Token'))).toEqual([null, 'token', 'token'])
    expect(sent.map((s) => s.headers.get('X-Workspace-Id'))).toEqual(['w', null, null])
    expect(sent.map((s) => s.headers.get('Content-Type'))).toEqual([null, 'application/json', null])
    expect(sent.map((s) => s.init.body)).toEqual([null, '{"a":1}', null])
  })
})

it('sends the same Idempotency-Key until the outcome is known, and one for each method', async () => {
  const keyOf = async (method: 'postIdempotent' | 'delIdempotent') => {
    await api[method]('/documents/x', { workspace: 'w' }).catch(() => undefined)
    expect(sent.at(-1)?.init.method).toBe(method === 'delIdempotent' ? 'DELETE' : 'POST')
    return sent.at(-1)?.headers.get('Idempotency-Key')
  }
  answer = envelope({ error: { code: 'UNAVAILABLE', message: 'busy' } }, { status: 503 })
  const first = await keyOf('delIdempotent')
  expect(first).toMatch(/^[0-9a-f-]{36}$/)
  expect(await keyOf('postIdempotent')).not.toBe(first)
  answer = envelope({ success: true, data: {}, requestId: 'r' })
  expect(await keyOf('delIdempotent')).toBe(first)
  expect(await keyOf('delIdempotent')).not.toBe(first)
})

it('sends a text unchanged, with its content type', async () => {
  answer = envelope({ success: true, data: null, requestId: 'r' })
  await api.put('/x', { raw: { type: 'application/yaml', text: 'a: "b"\n' } })
  expect(sent[0]?.headers.get('Content-Type')).toBe('application/yaml')
  expect(sent[0]?.init.body).toBe('a: "b"\n')
})

it('encodes query parameters: repeats lists, omits empty values and escapes the rest', () => {
  expect(url('/q', { a: ['x', 'y z'], b: '', c: null, d: undefined, e: 0, f: false, g: 'a&b=c' })).toBe(
    '/admin/api/q?a=x&a=y+z&e=0&f=false&g=a%26b%3Dc',
  )
  expect(url('/q')).toBe('/admin/api/q')
})

describe('a failed request', () => {
  const failure = async (): Promise<ApiError> => {
    try {
      await api.get('/x')
    } catch (error) {
      if (error instanceof ApiError) return error
      throw error
    }
    throw new Error('it succeeded')
  }

  it('reports the error of the envelope', async () => {
    answer = envelope(
      {
        success: false,
        error: { code: 'VALIDATION_ERROR', message: 'Bad', details: { field: 'name' } },
        requestId: 'req_9',
      },
      { status: 422 },
    )
    expect(await failure()).toMatchObject({
      status: 422,
      code: 'VALIDATION_ERROR',
      message: 'Bad',
      details: { field: 'name' },
      requestId: 'req_9',
    })
  })

  it('reports the delay of Retry-After', async () => {
    answer = envelope(
      { error: { code: 'RATE_LIMITED', message: 'Slow down' } },
      { status: 429, headers: { 'Retry-After': '17' } },
    )
    expect((await failure()).retryAfter).toBe(17)
  })

  it('handles an HTML error page from a proxy', async () => {
    answer = () =>
      new Response('<html>Bad gateway</html>', { status: 502, headers: { 'X-Request-Id': 'req_p' } })
    expect(await failure()).toMatchObject({
      status: 502,
      message: 'The server returned 502',
      requestId: 'req_p',
      details: {},
    })
  })

  it('handles JSON without an envelope', async () => {
    answer = () => new Response('null', { status: 500 })
    expect((await failure()).status).toBe(500)
  })

  it('reports status 0 if the server cannot be reached', async () => {
    answer = () => Promise.reject(new TypeError('Failed to fetch'))
    expect(await failure()).toMatchObject({ status: 0, code: 'UNREACHABLE' })
  })

  it('reports an error for a truncated success response', async () => {
    answer = () => new Response('{"success": true, "da', { status: 200 })
    expect((await failure()).message).toContain('incomplete')
  })

  it('passes an AbortError of the caller through', async () => {
    answer = () => Promise.reject(new DOMException('stopped', 'AbortError'))
    await expect(api.get('/x')).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('calls the signed-out handler on 401, except for the session request', async () => {
    const signedOut = vi.fn()
    setSignedOutHandler(signedOut)
    answer = envelope({ error: { code: 'AUTHENTICATION_ERROR', message: 'Unauthorized' } }, { status: 401 })
    await expect(api.get('/session')).rejects.toBeInstanceOf(ApiError)
    expect(signedOut).not.toHaveBeenCalled()
    await expect(api.get('/keys')).rejects.toBeInstanceOf(ApiError)
    expect(signedOut).toHaveBeenCalledOnce()
    setSignedOutHandler(() => undefined)
  })
})
