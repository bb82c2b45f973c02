// Lists that are read page by page.

import { expect, test } from 'vitest'

import { all, answer, failure, page, rejection, replies } from '../support/server.js'

test('pages follow the cursor', async () => {
  const server = await replies(
    page([1, 2], { cursor: 'x', more: true }),
    failure(503),
    page([3], { cursor: 'y', more: true }),
    page([4]),
  )
  expect(await all(server.client().nodes.iterate({ name: 'n' }))).toEqual([1, 2, 3, 4])
  const sent = server.requests.map(({ query }) => new URLSearchParams(query).toString())
  expect(sent).toEqual([
    'limit=100&name=n',
    'limit=100&name=n&cursor=x',
    'limit=100&name=n&cursor=x',
    'limit=100&name=n&cursor=y',
  ])
})

test('pages without a cursor follow the offset', async () => {
  const more = { more: true }
  const server = await replies(page([1, 2], more), page([3], more), page([4], more), page([], more))
  expect(await all(server.client().documents.iterate())).toEqual([1, 2, 3, 4])
  const offsets = server.requests.map(({ query }) => query.find(([name]) => name === 'offset')?.[1])
  expect(offsets).toEqual([undefined, '2', '3', '4'])
})

test('lists of documents are filtered', async () => {
  const server = await replies(page([1], {}), page([], {}))
  const timestamp = { from: new Date('2026-11-21T07:40:08Z') }
  await server
    .client()
    .documents.list({ tags: ['a,b', 'c'], allTags: ['d'], timestamp, sort: 'newest', limit: 5 })
  expect(server.requests[0]?.query).toEqual([
    ['limit', '5'],
    ['tag', 'a,b'],
    ['tag', 'c'],
    ['allTag', 'd'],
    ['timestampFrom', '2026-11-21T07:40:08.000Z'],
    ['sort', 'newest'],
  ])
  await all(server.client().documents.iterate({ timestamp: { to: '2027-01-01T00:00:00Z' } }))
  expect(server.requests[1]?.query).toContainEqual(['timestampTo', '2027-01-01T00:00:00Z'])
})

test('pages are read when they are needed', async () => {
  const server = await replies(page([1, 2], { cursor: 'x', more: true }))
  const items = server.client().nodes.iterate()
  expect(server.requests).toHaveLength(0)
  expect([(await items.next()).value, (await items.next()).value]).toEqual([1, 2])
  expect(server.requests).toHaveLength(1)
})

test('a page has the metadata', async () => {
  const server = await replies(page([1, 2], { cursor: 'x', more: true }))
  const found = await server.client().nodes.list()
  expect([...found]).toEqual([1, 2])
  expect([found.length, found.total, found.hasMore, found.nextCursor]).toEqual([2, 9, true, 'x'])
})

test('a source is created, or found by its exact name', async () => {
  const conflict = failure(409, 'CONFLICT')
  const found = page([{ name: 'pump 2' }, { name: 'pump', id: 'p' }])
  const server = await replies(
    answer({ id: 'new' }, 201),
    conflict,
    found,
    conflict,
    page([{ name: 'pump 2' }]),
  )
  const { sources } = server.client()
  expect(await sources.ensure({ name: 'pump', unit: '°C' })).toEqual({ id: 'new' })
  expect(await sources.ensure({ name: 'pump' })).toMatchObject({ id: 'p' })
  expect(await rejection(sources.ensure({ name: 'pump' }))).toMatchObject({ status: 404, code: 'NOT_FOUND' })
})

test('a redirect is not followed', async () => {
  const server = await replies({ status: 302, headers: { Location: 'https://other.invalid/' } })
  expect(await rejection(server.client().nodes.get('n'))).toMatchObject({ status: 302 })
})
