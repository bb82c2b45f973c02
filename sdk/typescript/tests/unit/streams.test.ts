// Event streams.

import { setImmediate } from 'node:timers/promises'

import { describe, expect, test } from 'vitest'

import { AuthorizationError, type ChangeEvent, ResponseError, TransportError } from '../../src/index.js'
import { Parser } from '../../src/sse.js'
import { cut, failure, refused, rejection, replies, type Reply, serve } from '../support/server.js'

const bytes = new TextEncoder().encode(
  ': open\n\nid: 1\nevent: change\ndata: {"a":\ndata: "é𝄞"}\n\n' +
    'id: 2\n\nevent: points\r\ndata: 5\r\n\r\nid: 3\rdata:6\r\rretry: 1\nid\nid: 4\n\n: heartbeat\n\n',
)
const events = [
  { id: '1', event: 'change', data: { a: 'é𝄞' } },
  { id: '2', event: 'points', data: 5 },
  { id: '3', event: 'message', data: 6 },
]

describe('events are parsed', () => {
  test.each([1, 2, 3, 7, bytes.length])('in parts of %d bytes', (size) => {
    const parser = new Parser()
    const found = []
    for (let start = 0; start < bytes.length; start += size)
      found.push(...parser.feed(bytes.subarray(start, start + size)))
    expect(found).toEqual(events)
    expect(parser.lastId).toBe('4')
  })

  test('with any two cuts', () => {
    for (let first = 0; first < bytes.length; first++) {
      for (let second = first; second < bytes.length; second++) {
        const parser = new Parser()
        const parts = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]
        const found = parts.flatMap((part) => parser.feed(part))
        // toEqual for each of the thousands of cuts takes seconds.
        if (JSON.stringify(found) !== JSON.stringify(events)) expect(found).toEqual(events)
        expect(parser.lastId).toBe('4')
      }
    }
  })

  test('with a byte order mark, and without the null in an id', () => {
    const parser = new Parser('7')
    const text = '\ufeffid: 8\0\ndata: 1\n\n'
    expect(parser.feed(new TextEncoder().encode(text))).toEqual([{ id: '7', event: 'message', data: 1 }])
  })

  test('and an event that is not JSON or too long is an error', () => {
    const encode = (text: string): Uint8Array => new TextEncoder().encode(text)
    expect(() => new Parser().feed(encode('data: {\n\n'))).toThrow(ResponseError)
    for (const text of ['data: 123456', 'data: 123456\n', 'data: 12345\n: comment']) {
      const parser = new Parser('', 10)
      parser.feed(encode('data: 1234567\n\ndata: 12345\n'))
      expect(() => parser.feed(encode(text))).toThrow(ResponseError)
    }
  })
})

function stream(body: string, broken = true): Reply {
  return { body, broken, headers: { 'Content-Type': 'text/event-stream' } }
}

test('a stream is resumed after the last event', async () => {
  const server = await replies(
    stream('id: 7\nevent: change\ndata: 1\n\nid: 8\n\ndata: "cut'),
    failure(503),
    refused,
    stream('id: 9\nevent: change\ndata: 2\n\n', false),
    cut,
    stream('id: 10\nevent: change\ndata: 3\n\n'),
  )
  const changes = server.client().changes.stream({ after: 0 })
  expect(await changes.open()).toBe(changes)
  expect((await changes.next()).value).toEqual({ id: '7', event: 'change', data: 1 })
  expect(changes.lastId).toBe('7')
  const later: unknown[] = []
  for await (const event of changes) {
    later.push(event.data)
    if (later.length === 2) break
  }
  expect(later).toEqual([2, 3])
  expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual([
    '0',
    '8',
    '8',
    '8',
    '9',
    '9',
  ])
  expect(server.requests[0]?.headers.accept).toBe('text/event-stream')
  expect(await changes.next()).toEqual({ done: true, value: undefined })
})

test('a stream of points has the selector in each connection, and no position at first', async () => {
  const server = await replies(
    stream('id: a\nevent: points\ndata: []\n\n'),
    stream('id: b\nevent: points\ndata: [1]\n\n'),
  )
  const found: unknown[] = []
  for await (const event of server.client().points.stream({ source: 's', tag: { k: 'v' } })) {
    found.push(event.data)
    if (found.length === 2) break
  }
  expect(found).toEqual([[], [1]])
  expect(server.requests.map(({ query }) => query)).toEqual(
    [0, 1].map(() => [
      ['source', 's'],
      ['tag.k', 'v'],
    ]),
  )
  expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, 'a'])
})

test('a stream that is refused throws the error', async () => {
  const server = await replies(failure(403, 'AUTHORIZATION_ERROR'))
  expect(await rejection(server.client().changes.stream().open())).toBeInstanceOf(AuthorizationError)
})

test('a stream that stays broken throws the error', async () => {
  const server = await replies(...new Array<typeof cut>(20).fill(cut))
  const events = server.client({ retry: { firstMs: 1, maxMs: 1, maxAttempts: 4 } }).changes.stream()
  expect(await rejection(events.next())).toBeInstanceOf(TransportError)
  expect(server.requests).toHaveLength(4)
})

test('attempts are counted from the last connection', async () => {
  const server = await replies(...Array.from({ length: 9 }, (_, id) => stream(`id: ${id}\ndata: ${id}\n\n`)))
  const found: unknown[] = []
  const changes = server.client({ retry: { firstMs: 1, maxMs: 1, maxAttempts: 2 } }).changes.stream()
  for await (const event of changes) if (found.push(event.data) === 9) break
  expect(found).toHaveLength(9)
})

test('a connection without heartbeats is replaced', async () => {
  const server = await serve(({ headers }, response) => {
    const id = Number(headers['last-event-id'] ?? 0) + 1
    response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    response.write(`id: ${id}\ndata: ${id}\n\n`)
    return undefined
  })
  const found: unknown[] = []
  for await (const event of server.client({ timeoutMs: 100 }).changes.stream())
    if (found.push(event.data) === 3) break
  expect(found).toEqual([1, 2, 3])
})

describe('an open stream', () => {
  async function idle() {
    let closed = (): void => undefined
    const end = new Promise<void>((resolve) => (closed = resolve))
    const server = await serve((_, response) => {
      response.on('close', closed)
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.write('id: 1\nevent: change\ndata: 1\n\n')
      return undefined
    })
    return { client: server.client(), end, server }
  }

  test('is closed with its connection, also while an event is awaited', async () => {
    const { client, end } = await idle()
    const changes = client.changes.stream()
    await changes.next()
    const pending = changes.next()
    await setImmediate() // now it waits for the connection
    await changes.close()
    expect(await pending).toEqual({ done: true, value: undefined })
    await end
    await changes.close()
  })

  test('is closed by the end of a loop', async () => {
    const { client, end } = await idle()
    for await (const event of client.changes.stream()) {
      expect(event.id).toBe('1')
      break
    }
    await end
  })

  test('is closed right after it was opened', async () => {
    const { client, end } = await idle()
    await (await client.changes.stream().open()).close()
    await end
  })

  test('that was never opened sends nothing when it is closed', async () => {
    const { client, server } = await idle()
    const changes = client.changes.stream()
    await changes.close()
    expect(await changes.next()).toEqual({ done: true, value: undefined })
    expect(server.requests).toHaveLength(0)
  })

  test('is ended by a signal', async () => {
    const { client, end } = await idle()
    const abort = new AbortController()
    const found: ChangeEvent[] = []
    const loop = (async () => {
      for await (const event of client.changes.stream({ signal: abort.signal })) {
        found.push(event)
        abort.abort(new Error('enough'))
      }
    })()
    expect(await rejection(loop)).toEqual(new Error('enough'))
    expect(found).toHaveLength(1)
    await end
  })
})
