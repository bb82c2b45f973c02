// Which requests are sent again, when, and what is thrown.

import { getEventListeners } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'

import { describe, expect, test } from 'vitest'

import {
  APIError,
  AuthenticationError,
  AuthorizationError,
  type Client,
  commands,
  ConflictError,
  NotFoundError,
  ResponseError,
  ServerError,
  TransportError,
  UnavailableError,
  ValidationError,
} from '../../src/index.js'
import { retryAfter } from '../../src/response.js'
import { Attempts, defaultRetry } from '../../src/retry.js'
import {
  answer,
  clientOf,
  cut,
  failure,
  gate,
  page,
  quick,
  refused,
  rejection,
  replies,
  serve,
} from '../support/server.js'

type Call = (client: Client) => Promise<unknown>

const read: Call = (client) => client.nodes.get('n')
const execute: Call = (client) => client.commands.execute(commands.undo())
const deletePoints: Call = (client) => client.points.delete('s')
const deleteDocument: Call = (client) => client.documents.delete('d')
const patch: Call = (client) => client.sources.update('s', { expectedVersion: 1 })

describe('transient errors', () => {
  const problems = {
    429: failure(429, 'RATE_LIMITED'),
    500: failure(500),
    502: failure(502),
    503: failure(503),
    504: failure(504),
    'a refused connection': refused,
    'no response': cut,
    'a response that ends early': {
      body: '{"success":tr',
      broken: true,
      headers: { 'Content-Length': '500' },
    },
    'a response of a proxy': { status: 503, body: 'proxy' },
  } as const
  test.each(Object.entries(problems))('%s is retried', async (_, problem) => {
    for (const call of [read, execute, deleteDocument]) {
      const server = await replies(problem, problem, answer({ node: 1 }))
      expect(await call(server.client())).toEqual({ node: 1 })
      expect(server.requests).toHaveLength(3)
      expect(new Set(server.requests.map(({ headers }) => headers['idempotency-key'])).size).toBe(1)
    }
  })

  test('a response that does not come in time is retried', async () => {
    let first = true
    const server = await serve(() => {
      const reply = first ? undefined : answer({ id: 'n' })
      first = false
      return reply
    })
    expect(await read(server.client({ timeoutMs: 200 }))).toEqual({ id: 'n' })
    expect(server.requests.length).toBeGreaterThan(1)
  })

  test('a request that is not answered in time throws an error with the time', async () => {
    const server = await serve(() => undefined)
    const error = await rejection(read(server.client({ timeoutMs: 20, retry: { totalMs: 0 } })))
    expect(error).toBeInstanceOf(TransportError)
    expect(error).toMatchObject({ sent: true, message: 'GET /api/queries/nodes/n: no answer for 20 ms' })
  })

  test('commands and points without a timestamp have the same key in each attempt', async () => {
    const server = await replies(failure(503), cut, answer({ accepted: 1, rejected: 0, errors: [] }, 201))
    await server.client().points.write([{ metric: 'm', value: 1 }], { source: 's' })
    const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
    expect(keys).toHaveLength(3)
    expect(keys[0]).toMatch(/^[-0-9a-f]{36}$/)
    expect(new Set(keys).size).toBe(1)
  })
})

test('a deletion of a document has a key', async () => {
  const server = await replies(cut, answer({}), answer({}))
  const client = server.client()
  await client.documents.delete('a/b')
  await client.documents.delete('a/b', { idempotencyKey: 'mine' })
  const keys = server.requests.map(({ headers }) => headers['idempotency-key'])
  expect(keys[0]).toMatch(/^[-0-9a-f]{36}$/)
  expect(keys).toEqual([keys[0], keys[0], 'mine'])
})

describe('permanent errors', () => {
  test.each([
    [400, 'VALIDATION_ERROR', ValidationError],
    [401, 'AUTHENTICATION_ERROR', AuthenticationError],
    [403, 'AUTHORIZATION_ERROR', AuthorizationError],
    [404, 'NOT_FOUND', NotFoundError],
    [409, 'CONFLICT', ConflictError],
    [413, 'VALIDATION_ERROR', ValidationError],
    [422, 'VALIDATION_ERROR', ValidationError],
    [302, '', APIError],
  ])('%d %s is thrown at once', async (status, code, kind) => {
    const server = await replies(
      failure(status, code, undefined, { field: 'points[3].value', reason: 'is bad' }),
    )
    const error = await rejection(read(server.client()))
    expect(error).toBeInstanceOf(kind)
    expect(error).toMatchObject({ name: kind.name, status, code, text: 'it failed', requestId: 'req_2' })
    expect(error).toMatchObject({ field: 'points[3].value', reason: 'is bad' })
    expect(String(error)).toContain('it failed (points[3].value: is bad), request req_2')
    expect(server.requests).toHaveLength(1)
  })

  test.each([deletePoints, patch])(
    'what must not be repeated is only retried if it was refused %#',
    async (call) => {
      for (const problem of [failure(500), failure(503), failure(504), cut] as const) {
        const server = await replies(problem)
        const error = await rejection(call(server.client()))
        expect(error instanceof ServerError || error instanceof TransportError).toBe(true)
        expect(server.requests).toHaveLength(1)
      }
      for (const problem of [failure(429, 'RATE_LIMITED'), refused] as const) {
        const server = await replies(problem, answer({ id: 'x' }))
        expect(await call(server.client())).toEqual({ id: 'x' })
      }
    },
  )

  test('a conflict is retried only while the first attempt runs', async () => {
    const server = await replies(failure(409, 'CONFLICT', 0), answer({ sequence: 1 }))
    expect(await server.client().commands.undo()).toEqual({ sequence: 1 })
  })

  test('an internal error is retried four times, another one nine times', async () => {
    for (const [problem, attempts] of [
      [failure(500), 5],
      [failure(503), 10],
    ] as const) {
      const server = await replies(...Array.from({ length: 12 }, () => problem))
      expect(await rejection(read(server.client()))).toBeInstanceOf(ServerError)
      expect(server.requests).toHaveLength(attempts)
    }
  })

  test('a wait that is longer than the time left throws the last error', async () => {
    const server = await replies(failure(503, 'X', 30))
    const error = await rejection(read(server.client({ retry: { totalMs: 20_000 } })))
    expect(error).toBeInstanceOf(UnavailableError)
    expect(error).toMatchObject({ retryAfterMs: 30_000, requestId: 'req_2' })
  })

  test('a port that nothing listens on is reported as not sent', async () => {
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    await new Promise((resolve) => server.close(resolve))
    const error = await rejection(read(clientOf(`http://127.0.0.1:${port}`, { retry: { totalMs: 0 } })))
    expect(error).toBeInstanceOf(TransportError)
    expect(error).toMatchObject({ sent: false })
    expect(String(error)).toMatch(/the server cannot be reached: .*ECONNREFUSED/)
  })

  test.each(['<html>', '[]', '{"success":false,"data":{}}', '{"success":true}'])(
    'the response %s is an error',
    async (body) => {
      const server = await replies({ body })
      expect(await rejection(read(server.client()))).toBeInstanceOf(ResponseError)
    },
  )
})

describe('waits', () => {
  const unavailable = (retryAfterMs?: number): APIError =>
    new UnavailableError('', { status: 503, retryAfterMs })

  test('double up to a bound, with jitter, and end', () => {
    let now = 0
    const retry = { ...defaultRetry, firstMs: 1, maxMs: 8, totalMs: 30 }
    const attempts = new Attempts(
      retry,
      () => now,
      () => 0.5,
    )
    const waits: number[] = []
    for (
      let wait = attempts.nextWait(unavailable(), true);
      wait !== undefined;
      wait = attempts.nextWait(unavailable(), true)
    ) {
      waits.push(wait)
      now += wait
    }
    expect(waits).toEqual([1, 2, 4, 8, 8])
    expect(attempts.timeout(45)).toBe(7)
    const bounds = [0, 0.999].map((random) =>
      new Attempts(
        retry,
        () => 0,
        () => random,
      ).nextWait(unavailable(), true),
    )
    expect(bounds).toEqual([0.5, 1.499])
  })

  test('are those of Retry-After', () => {
    const attempts = new Attempts(defaultRetry, () => 0)
    expect(attempts.nextWait(unavailable(17_000), true)).toBe(17_000)
    expect(attempts.nextWait(unavailable(61_000), true)).toBeUndefined()
  })

  test('Retry-After is parsed', () => {
    expect(retryAfter('12')).toBe(12_000)
    expect(retryAfter('Wed, 21 Oct 2015 07:28:00 GMT')).toBe(0)
    expect(retryAfter('Wed, 21 Oct 2099 07:28:00 GMT')).toBeGreaterThan(1e12)
    expect(['', 'soon', '-1', '²', '2015'].map(retryAfter)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      2015e3,
    ])
  })
})

describe('a signal', () => {
  test('ends a request', async () => {
    const arrived = gate()
    const server = await serve(() => {
      if (server.requests.length === 2) arrived.open()
      return undefined
    })
    const abort = new AbortController()
    const { signal } = abort
    const client = server.client()
    const requests = [client.nodes.get('n', { signal }), client.points.delete('s', { signal })].map(rejection)
    await arrived.opened
    const reason = new Error('enough')
    abort.abort(reason)
    for (const error of await Promise.all(requests)) expect(error).toBe(reason)
    expect(server.requests).toHaveLength(2)
  })

  test('ends a wait between attempts', async () => {
    const abort = new AbortController()
    const server = await serve(() => {
      setTimeout(() => abort.abort(), 20)
      return failure(503, 'X', 3000)
    })
    const error = await rejection(
      server.client({ retry: { totalMs: 1e9 } }).nodes.get('n', { signal: abort.signal }),
    )
    expect(error).toMatchObject({ name: 'AbortError' })
  })

  test('has no listeners after the end of what it was given to', async () => {
    const { signal } = new AbortController()
    const events = 'id: 1\ndata: 1\n\n'
    const server = await replies(
      failure(503),
      answer({}),
      failure(404),
      { body: events },
      failure(403),
      failure(422),
    )
    const client = server.client()
    await client.nodes.get('n', { signal })
    expect(await rejection(client.nodes.get('n', { signal }))).toBeInstanceOf(NotFoundError)
    const stream = client.changes.stream({ signal })
    await stream.next()
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    expect(await rejection(stream.next())).toBeInstanceOf(AuthorizationError)
    const writer = client.writer({ signal })
    await writer.write({ source: 's', metric: 'm', value: 1 })
    expect(await rejection(writer.close())).toMatchObject({ name: 'WriteError' })
    expect(getEventListeners(signal, 'abort')).toHaveLength(0)
  })

  test('that is aborted before sends nothing', async () => {
    const server = await replies()
    expect(await rejection(server.client().nodes.get('n', { signal: AbortSignal.abort() }))).toMatchObject({
      name: 'AbortError',
    })
    expect(server.requests).toHaveLength(0)
  })
})

describe('waitVisible', () => {
  test('repeats until the time is over', async () => {
    const server = await replies(failure(504), failure(504), failure(504), page([]))
    expect(await server.client().waitVisible('c', { timeoutMs: 20_000 })).toBe(0)
    expect(server.requests[0]?.query).toContainEqual(['checkpoint', 'c'])
    const slow = await replies(failure(504, 'X', 30))
    const error = await rejection(slow.client().waitVisible('c', { timeoutMs: 20_000 }))
    expect(error).toBeInstanceOf(UnavailableError)
  })

  test('is not bounded by the number of attempts', async () => {
    const server = await replies(...Array.from({ length: 15 }, () => failure(504)), page([]))
    expect(await server.client({ retry: { ...quick, maxAttempts: 2 } }).waitVisible(['c'])).toBe(0)
  })

  test('counts records that were not stored', async () => {
    const meta = { total: 0, limit: 1, offset: 0, hasMore: false, nextCursor: null, deadLettered: 3 }
    const server = await replies(answer([], 200, meta), page([]))
    expect(await server.client().waitVisible(['c', 'd'])).toBe(3)
  })
})
