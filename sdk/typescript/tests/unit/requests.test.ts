// What is sent.

import { inspect } from 'node:util'

import { describe, expect, test, vi } from 'vitest'

import { Client, commands, version } from '../../src/index.js'
import { base64 } from '../../src/request.js'
import {
  answer,
  clientOf,
  cut,
  failure,
  key,
  page,
  rejection,
  replies,
  workspace,
} from '../support/server.js'

const stored = answer({ accepted: 1, rejected: 0, errors: [], checkpoint: 'c' }, 201)

test('requests have the key, the workspace and the path of the address', async () => {
  const server = await replies(answer({}))
  const client = new Client({ url: `${server.url}/prefix/`, apiKey: key, workspaceId: workspace })
  await client.nodes.get('a/b?c')
  const [request] = server.requests
  expect(request?.path).toBe('/prefix/api/queries/nodes/a%2Fb%3Fc')
  expect(request?.headers).toMatchObject({
    authorization: `Bearer ${key}`,
    'x-workspace-id': workspace,
    'user-agent': `livegraph-typescript/${version}`,
  })
})

test.each(['', '.', '..'])('%j is not an id', async (id) => {
  const server = await replies()
  expect(() => server.client().nodes.get(id)).toThrow('is not an id')
})

test('filters become parameters', async () => {
  const server = await replies(page([]))
  await server.client().nodes.list({
    name: 'a b&c',
    entityType: ['object', 'actor'],
    property: { room: ['x', 'y'], n: '1' },
    propertyMin: { n: 1.5 },
    propertyMax: { at: '2026' },
    propertyPrefix: { serial: ['A', 'B'] },
    createdAfter: new Date('2026-01-02T03:04:05+01:00'),
    cursor: undefined,
  })
  expect(server.requests[0]?.query).toEqual([
    ['limit', '100'],
    ['name', 'a b&c'],
    ['entityType', 'object'],
    ['entityType', 'actor'],
    ['createdAfter', '2026-01-02T02:04:05.000Z'],
    ['property.room', 'x'],
    ['property.room', 'y'],
    ['property.n', '1'],
    ['propertyMin.n', '1.5'],
    ['propertyMax.at', '2026'],
    ['propertyPrefix.serial', 'A'],
    ['propertyPrefix.serial', 'B'],
  ])
})

test('queries of points have the parameters of the API', async () => {
  const server = await replies(page([]), page([]), page([]))
  const { points } = server.client()
  await points.query({
    source: 'pump',
    from: '-1h',
    to: new Date(0),
    tag: { a: 'b' },
    pointsLimit: 5,
    limit: 7,
  })
  await points.aggregate(['avg', 'max'], { interval: '1m', groupBy: 'tag.a' })
  await points.latest({ metric: ['x', 'y,z'] })
  expect(server.requests.map(({ query }) => query)).toEqual([
    [
      ['limit', '7'],
      ['source', 'pump'],
      ['from', '-1h'],
      ['to', '1970-01-01T00:00:00.000Z'],
      ['pointsLimit', '5'],
      ['tag.a', 'b'],
    ],
    [
      ['limit', '100'],
      ['interval', '1m'],
      ['groupBy', 'tag.a'],
      ['aggregation', 'avg,max'],
    ],
    [
      ['limit', '100'],
      ['metric', 'x'],
      ['metric', 'y,z'],
      ['latest', 'true'],
    ],
  ])
})

test('facets of a search are sent and returned', async () => {
  const facets = { tags: { values: [{ value: 'a', count: 2 }], other: 0, missing: 1 } }
  const meta = { total: 3, limit: 10, offset: 0, hasMore: false, nextCursor: null, facets }
  const server = await replies(answer([], 200, meta))
  const client = clientOf(server.url)
  const hits = await client.search.nodes('pump', { facets: ['tags'], facetLimit: 5 })
  expect(hits.meta.facets).toEqual(facets)
  expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
    query: 'pump',
    facets: ['tags'],
    facetLimit: 5,
  })
})

test('searches are filtered by documents', async () => {
  const server = await replies(
    answer([], 200, { total: 0, limit: 10, offset: 0, hasMore: false, nextCursor: null }),
  )
  const timestamp = { from: '2026-01-01T00:00:00Z' }
  await clientOf(server.url).search.nodes('pump', {
    documents: ['d'],
    tags: ['a', 'b'],
    allTags: ['c'],
    timestamp,
  })
  expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
    query: 'pump',
    documents: ['d'],
    tags: ['a', 'b'],
    allTags: ['c'],
    timestamp,
  })
})

test('reranking is requested, and described by the page', async () => {
  const rerank = { model: 'm', candidates: 3, milliseconds: 1.5 }
  const meta = { total: 3, limit: 10, offset: 0, hasMore: false, nextCursor: null, rerank }
  const server = await replies(answer([], 200, meta))
  const hits = await clientOf(server.url).search.hybrid('pump', { rerank: { candidates: 30 } })
  expect(hits.meta.rerank).toEqual(rerank)
  expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
    query: 'pump',
    rerank: { candidates: 30 },
  })
})

describe('values that JSON would change', () => {
  test.each([
    NaN,
    -Infinity,
    new Date(NaN),
    '\ud800',
    [undefined],
    { '\udc00': 1 },
    { deep: [{ x: NaN }] },
    5n,
  ])('%s is refused before a request', async (value) => {
    const server = await replies()
    const changes = { properties: { value } }
    expect(await rejection(server.client().nodes.update('n', changes))).toBeInstanceOf(TypeError)
    expect(server.requests).toHaveLength(0)
  })

  test('null and texts with its name are sent', async () => {
    const server = await replies(answer({ node: {} }))
    await server.client().nodes.update('n', { description: null, properties: { a: 'null \\ud800', b: '𝄞' } })
    expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
      type: 'UPDATE_NODE',
      payload: { description: null, properties: { a: 'null \\ud800', b: '𝄞' }, id: 'n' },
    })
  })
})

test('large bodies are compressed', async () => {
  const server = await replies(answer({}), answer({}))
  const client = server.client()
  await client.commands.batch([commands.createNode({ name: 'n', entityType: 'actor' })])
  await client.commands.batch([commands.createNode({ name: 'é'.repeat(1000), entityType: 'actor' })])
  const [small, large] = server.requests
  expect(small?.headers).not.toHaveProperty('content-encoding')
  expect(large?.headers['content-encoding']).toBe('gzip')
  expect(JSON.parse(large?.text ?? '')).toMatchObject({
    atomic: true,
    commands: [{ payload: { name: 'é'.repeat(1000) } }],
  })
})

test('bodies are not compressed where that is not possible', async () => {
  const server = await replies(answer({}))
  const { CompressionStream } = globalThis
  try {
    Reflect.deleteProperty(globalThis, 'CompressionStream')
    await server
      .client()
      .commands.batch([commands.createNode({ name: 'n'.repeat(2000), entityType: 'actor' })])
  } finally {
    globalThis.CompressionStream = CompressionStream
  }
  expect(server.requests[0]?.headers).not.toHaveProperty('content-encoding')
})

test.each([
  [{ metric: 'm', value: 1 }, true],
  [{ metric: 'm', value: 1, timestamp: undefined }, true],
  [{ metric: 'm', value: 1, timestamp: 5 }, false],
  [{ metric: 'm', value: 1, timestamp: new Date(0) }, false],
])('the point %j has an idempotency key: %s', async (point, hasKey) => {
  const server = await replies(stored)
  await server.client().points.write([point], { source: 's', precision: 'us', strict: true })
  const [request] = server.requests
  expect(request?.headers['idempotency-key'] !== undefined).toBe(hasKey)
  expect(JSON.parse(request?.text ?? '')).toEqual(
    JSON.parse(JSON.stringify({ source: 's', precision: 'us', points: [point] })),
  )
  expect(request?.query).toEqual([['strict', 'true']])
})

test('line protocol is sent as text with a key', async () => {
  const server = await replies(stored, stored)
  const { points } = server.client()
  await points.writeLines('boiler temperature=71.5', { precision: 's' })
  await points.writeLines(new TextEncoder().encode('é x=1'), { strict: false })
  const [text, bytes] = server.requests
  expect(text).toMatchObject({ text: 'boiler temperature=71.5', query: [['precision', 's']] })
  expect(text?.headers['content-type']).toBe('text/plain')
  expect(text?.headers['idempotency-key']).toBeDefined()
  expect(bytes).toMatchObject({ text: 'é x=1', query: [] })
})

test('files of documents are sent as base64', async () => {
  const server = await replies(answer({ documents: [{ status: 'created' }] }))
  const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index * 7)
  const result = await server.client().documents.put([
    { externalId: 'a', data: bytes, contentType: 'application/pdf' },
    { externalId: 'b', text: 'words', timestamp: new Date(0) },
  ])
  expect(result).toEqual([{ status: 'created' }])
  expect(JSON.parse(server.requests[0]?.text ?? '')).toEqual({
    documents: [
      { externalId: 'a', data: Buffer.from(bytes).toString('base64'), contentType: 'application/pdf' },
      { externalId: 'b', text: 'words', timestamp: '1970-01-01T00:00:00.000Z' },
    ],
  })
  for (let length = 0; length < 9; length++) {
    expect(base64(bytes.subarray(0, length))).toBe(Buffer.from(bytes.subarray(0, length)).toString('base64'))
  }
})

test('PromQL is sent as a form', async () => {
  const server = await replies({
    body: '{"status":"success","data":{"resultType":"scalar","result":[1,"2"]}}',
  })
  const result = await server
    .client()
    .prometheus.queryRange('a{b="c&d"}', { start: 5, end: new Date(9e3), step: '15s' })
  expect(result.data.result).toEqual([1, '2'])
  const [request] = server.requests
  expect(request?.headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect([...new URLSearchParams(request?.text)]).toEqual([
    ['start', '5'],
    ['end', '1970-01-01T00:00:09.000Z'],
    ['step', '15s'],
    ['query', 'a{b="c&d"}'],
  ])
})

test('an error of PromQL has the code of Prometheus', async () => {
  const server = await replies({
    status: 400,
    body: '{"status":"error","errorType":"bad_data","error":"no"}',
  })
  expect(await rejection(server.client().prometheus.query('sum('))).toMatchObject({
    code: 'bad_data',
    text: 'no',
  })
})

test.each(['server', 'ftp://server', 'http://', 'http://server?x=1', 'http://a:secret@server', ''])(
  'the address %j is refused, and not shown',
  (url) => {
    const create = (): Client => clientOf(url)
    expect(create).toThrow('not an http or https URL')
    expect(create).not.toThrow('secret')
  },
)

test.each(['', 'a b', 'a\n', 'ä', 'a\r\nx: y'])('the key %j is refused, and not shown', (apiKey) => {
  const create = (): Client => new Client({ url: 'http://server', apiKey, workspaceId: workspace })
  expect(create).toThrow('the API key is empty or contains')
  if (apiKey.trim().length > 1) expect(create).not.toThrow(apiKey)
})

test('the key is not shown', async () => {
  const server = await replies(failure(401, 'AUTHENTICATION_ERROR'), cut)
  const client = server.client({ retry: { totalMs: 0 } })
  const shown: unknown[] = [client, client.nodes, client.changes.stream(), client.writer()]
  for (const call of [1, 2]) shown.push(await rejection(client.account()), call)
  for (const value of shown) {
    expect(inspect(value, { depth: 20, showHidden: true }) + JSON.stringify(value)).not.toContain(key)
  }
})

test('a client is made from the environment', async () => {
  const server = await replies(answer({ keyId: 'k' }))
  const names = { LIVEGRAPH_URL: server.url, LIVEGRAPH_API_KEY: key, LIVEGRAPH_WORKSPACE_ID: workspace }
  try {
    for (const [name, value] of Object.entries(names)) vi.stubEnv(name, value)
    expect(await Client.fromEnvironment().account()).toEqual({ keyId: 'k' })
    vi.stubEnv('LIVEGRAPH_API_KEY', '')
    expect(() => Client.fromEnvironment()).toThrow('LIVEGRAPH_API_KEY is not set')
  } finally {
    vi.unstubAllEnvs()
  }
})
