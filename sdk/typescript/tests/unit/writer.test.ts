// Writers.

import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

import { describe, expect, test } from 'vitest'

import {
  AuthorizationError,
  RejectedError,
  TransportError,
  WriteError,
  WriterClosedError,
} from '../../src/index.js'
import { Buffer, defaultLimits, type WriterPoint } from '../../src/buffer.js'
import {
  cut,
  failure,
  gate,
  receipt,
  refused,
  rejection,
  replies,
  serve,
  valuesOf,
} from '../support/server.js'

const never = 3_600_000

/** A server that stores points, after it may begin, and rejects requests with more than a number of points. */
async function store(limit = Infinity, begin: Promise<void> = Promise.resolve()) {
  const batches: unknown[][] = []
  const server = await serve(async (request) => {
    await begin
    const values = valuesOf(request)
    if (values.length > limit) return failure(413, 'VALIDATION_ERROR')
    batches.push(values)
    return receipt(request)
  })
  return { ...server, batches, values: () => batches.flat() }
}

function point(value: unknown): WriterPoint {
  return { source: 's', metric: 'm', value: value as number }
}

const range = (end: number): number[] => Array.from({ length: end }, (_, value) => value)

test('points are sent in batches, and the others at close', async () => {
  const server = await store()
  const writer = server.client().writer({ batchSize: 3, intervalMs: never })
  for (const value of range(8)) await writer.write({ ...point(value), tags: { k: 'v' } })
  await writer.close()
  expect(server.values()).toEqual(range(8))
  expect(server.batches.every(({ length }) => length <= 3)).toBe(true)
  const sent = JSON.parse(server.requests[0]?.text ?? '') as { precision: string; points: object[] }
  expect(Object.keys(sent.points[0] ?? {}).sort()).toEqual(['metric', 'source', 'tags', 'timestamp', 'value'])
  expect(sent.precision).toBe('us')
})

test('a complete batch is sent before the interval, and others after it', async () => {
  const arrived = gate()
  const server = await serve((request) => {
    arrived.open()
    return receipt(request)
  })
  const writer = server.client().writer({ batchSize: 2, intervalMs: never })
  await writer.write(point(1))
  await writer.write(point(2))
  await arrived.opened
  const later = await store()
  const timed = later.client().writer({ intervalMs: 20 })
  await timed.write(point(1))
  await expect.poll(() => later.values(), { timeout: 20_000 }).toEqual([1])
  await Promise.all([writer.close(), timed.close()])
})

test('flush waits until the points are stored', async () => {
  const { opened, open } = gate()
  const server = await store(Infinity, opened)
  const writer = server.client().writer({ intervalMs: never })
  await writer.flush()
  await writer.write(point(1))
  let flushed = false
  const flush = writer.flush().then(() => (flushed = true))
  await expect.poll(() => server.requests.length).toBe(1)
  expect(flushed).toBe(false)
  open()
  await flush
  expect(server.values()).toEqual([1])
  await writer.close()
})

test('write waits while the writer is full', async () => {
  const { opened, open } = gate()
  const server = await store(Infinity, opened)
  const writer = server.client().writer({ maxPoints: 4, batchSize: 2, intervalMs: never })
  const written: number[] = []
  const fill = (async () => {
    for (const value of range(7)) {
      await writer.write(point(value))
      written.push(value)
    }
  })()
  await expect.poll(() => server.requests.length).toBe(1)
  expect(written).toEqual(range(4))
  open()
  await fill
  await writer.close()
  expect(server.values()).toEqual(range(7))
})

test('points of concurrent calls are stored once', async () => {
  const server = await store()
  const writer = server.client().writer({ maxPoints: 20, batchSize: 7, intervalMs: 5 })
  await Promise.all(range(500).map((value) => writer.write(point(value))))
  await writer.close()
  expect((server.values() as number[]).sort((a, b) => a - b)).toEqual(range(500))
})

describe('errors', () => {
  test('are given to the callback, and later points are stored', async () => {
    const server = await serve((request) =>
      server.requests.length === 1 ? failure(403, 'AUTHORIZATION_ERROR') : receipt(request, 1),
    )
    const errors: WriteError[] = []
    const writer = server.client().writer({ intervalMs: never, onError: (error) => errors.push(error) })
    await writer.write(point(1))
    await writer.flush()
    await writer.write(point(2))
    await writer.write(point(3))
    await writer.close()
    const [denied, rejected] = errors
    expect(denied?.cause).toBeInstanceOf(AuthorizationError)
    expect(denied?.points.map(({ value }) => value)).toEqual([1])
    expect(rejected?.cause).toBeInstanceOf(RejectedError)
    expect(rejected?.cause).toMatchObject({ rejected: 1, rejections: [{ reason: 'is bad' }] })
    expect(rejected?.points.map(({ value }) => value)).toEqual([2, 3])
    expect(errors).toHaveLength(2)
  })

  test('are thrown once by the next call if there is no callback', async () => {
    const server = await serve((request) =>
      server.requests.length === 1 ? failure(422, 'VALIDATION_ERROR') : receipt(request),
    )
    const writer = server.client().writer({ intervalMs: never })
    await writer.write(point(1))
    const error = await rejection(writer.flush())
    expect(error).toBeInstanceOf(WriteError)
    expect(String(error)).toContain('1 points could not be written: 422')
    await writer.write(point(2))
    await writer.close()
    expect(valuesOf(server.requests[1] ?? expect.fail())).toEqual([2])
    expect(await rejection(writer.write(point(3)))).toBeInstanceOf(WriterClosedError)
    await writer.close()
  })

  test('of several requests are thrown as one with all points', async () => {
    const server = await serve(() => failure(422, 'VALIDATION_ERROR'))
    const writer = server.client().writer({ batchSize: 2, intervalMs: never })
    await Promise.all(range(5).map((value) => writer.write(point(value))))
    const error = (await rejection(writer.close())) as WriteError
    expect(error.points.map(({ value }) => value)).toEqual(range(5))
    expect(error.message).toContain('5 points of 3 requests')
  })

  test('of a callback do not stop the writer, and do not lose points', async () => {
    const server = await serve(() => failure(403))
    const writer = server.client().writer({
      onError: () => {
        throw new Error('callback')
      },
    })
    await writer.write(point(1))
    const error = (await rejection(writer.flush())) as WriteError
    expect(error.message).toContain('callback')
    expect(error.points).toHaveLength(1)
    await writer.write(point(2))
    expect(await rejection(writer.close())).toBeInstanceOf(WriteError)
  })

  test('that are transient are retried before they are reported', async () => {
    const server = await replies(failure(503), refused, cut, failure(422, 'VALIDATION_ERROR'))
    const errors: WriteError[] = []
    const writer = server.client().writer({ onError: (error) => errors.push(error) })
    await writer.write(point(1))
    await writer.close()
    expect(server.requests).toHaveLength(4)
    expect(errors).toHaveLength(1)
  })

  test('of a server that cannot be reached have the points', async () => {
    const server = await replies(refused)
    const writer = server.client({ retry: { totalMs: 0 } }).writer()
    await writer.write(point(1))
    const error = (await rejection(writer.close())) as WriteError
    expect(error.cause).toBeInstanceOf(TransportError)
    expect(error.points.map(({ value }) => value)).toEqual([1])
  })
})

test('a request that is too large is split', async () => {
  const server = await store(3)
  const writer = server.client().writer({ intervalMs: never })
  for (const value of range(10)) await writer.write(point(value))
  await writer.close()
  expect(server.values()).toEqual(range(10))
  const tooLarge = await store(0)
  const other = tooLarge.client().writer({ intervalMs: never })
  for (const value of range(3)) await other.write(point(value))
  expect(((await rejection(other.close())) as WriteError).points).toHaveLength(3)
})

test('a point has the time of the call, and no two have the same', () => {
  const times = [5000, 5000, 4000, 6000]
  const buffer = new Buffer(defaultLimits, undefined, () => times.shift() ?? 0)
  const stamps = range(4).map((value) => buffer.point(point(value)).timestamp)
  expect(stamps).toEqual([5_000_000, 5_000_001, 5_000_002, 6_000_000])
  expect(buffer.point({ ...point(1), time: new Date('2026-01-01T00:00:00.123Z') }).timestamp).toBe(
    1767225600123000,
  )
  expect(buffer.point({ ...point(1), timeUs: 1767225600123456 }).timestamp).toBe(1767225600123456)
})

test('a point does not change after the call', async () => {
  const server = await store()
  const writer = server.client().writer({ intervalMs: never })
  const tags = { k: 'v' }
  await writer.write({ ...point(1), tags })
  tags.k = 'other'
  await writer.close()
  expect(server.requests[0]?.text).toContain('"tags":{"k":"v"}')
})

test.each([NaN, -Infinity, null, undefined, [1], 5n])('the value %s is refused', async (value) => {
  const server = await store()
  const writer = server.client().writer()
  expect(await rejection(writer.write(point(value)))).toBeInstanceOf(TypeError)
  expect(await rejection(writer.write({ ...point(1), time: new Date(NaN) }))).toBeInstanceOf(TypeError)
  expect(await rejection(writer.write({ ...point(1), timeUs: 1.5 }))).toBeInstanceOf(TypeError)
  await writer.close()
  expect(server.requests).toHaveLength(0)
})

test.each([{ batchSize: 0 }, { maxPoints: 10 }, { intervalMs: 0 }, { intervalMs: NaN }])(
  '%j is refused',
  async (bounds) => {
    const server = await store()
    expect(() => server.client().writer(bounds)).toThrow(RangeError)
  },
)

test('close ends the calls that wait for space', async () => {
  const { opened, open } = gate()
  const server = await store(Infinity, opened)
  const writer = server.client().writer({ maxPoints: 2, batchSize: 2, intervalMs: never })
  await writer.write(point(0))
  await writer.write(point(1))
  const waiting = rejection(writer.write(point(2)))
  const closing = writer.close()
  expect(await waiting).toBeInstanceOf(WriterClosedError)
  open()
  await closing
  expect(server.values()).toEqual([0, 1])
})

describe('a writer that is aborted', () => {
  test('reports the points that were being sent and those in the queue', async () => {
    const server = await serve(() => undefined)
    const abort = new AbortController()
    const errors: WriteError[] = []
    const options = {
      batchSize: 2,
      maxPoints: 5,
      signal: abort.signal,
      onError: (e: WriteError) => errors.push(e),
    }
    const writer = server.client().writer(options)
    for (const value of range(5)) await writer.write(point(value))
    const blocked = rejection(writer.write(point(5)))
    await expect.poll(() => server.requests.length).toBe(1)
    abort.abort(new Error('enough'))
    expect(await blocked).toBeInstanceOf(WriterClosedError)
    await writer.close()
    expect(errors.flatMap(({ points }) => points.map(({ value }) => value))).toEqual(range(5))
    expect(errors[0]?.cause).toEqual(new Error('enough'))
    expect(server.requests).toHaveLength(1)
  })

  test('reports the points of the queue while it is idle', async () => {
    const server = await store()
    const abort = new AbortController()
    const reported = gate()
    const writer = server.client().writer({
      intervalMs: never,
      signal: abort.signal,
      onError: ({ points }) => points.length === 3 && reported.open(),
    })
    for (const value of range(3)) await writer.write(point(value))
    abort.abort()
    await reported.opened
    await writer.flush()
    await writer.close()
    expect(server.requests).toHaveLength(0)
  })
})

test('a program does not exit before the points of the queue are sent', async () => {
  const server = await store()
  const source = `
    import { Client } from ${JSON.stringify(fileURLToPath(new URL('../../dist/index.js', import.meta.url)))}
    const client = new Client({ url: process.argv[1], apiKey: 'k', workspaceId: 'w' })
    await client.writer({ intervalMs: 50 }).write({ source: 's', metric: 'm', value: 7 })
  `
  const child = spawn(process.execPath, ['--input-type=module', '-e', source, server.url], {
    stdio: 'inherit',
  })
  const [status] = (await once(child, 'exit')) as [number]
  expect(status).toBe(0)
  expect(server.values()).toEqual([7])
})
