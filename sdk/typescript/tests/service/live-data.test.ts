// Sources and points of a service.

import { randomUUID } from 'node:crypto'

import { tableFromArrays } from 'apache-arrow'
import { expect, test } from 'vitest'

import { edgesArrow, nodesArrow, queryArrow, seriesArrow, writeArrow } from '../../src/arrow.js'
import {
  AuthenticationError,
  Client,
  ConflictError,
  NotFoundError,
  type PointsEvent,
  RejectedError,
  ValidationError,
  type WriteError,
} from '../../src/index.js'
import { all, rejection } from '../support/server.js'

const client = Client.fromEnvironment()
const name = (): string => `source ${randomUUID()}`
const seconds = (): number => Math.floor(Date.now() / 1000)
const range = (end: number): number[] => Array.from({ length: end }, (_, value) => value)

/** Returns the number of points of each metric of a source. */
async function counts(source: string): Promise<Record<string, number>> {
  const series = await all(client.points.series({ source }))
  return Object.fromEntries(series.map(({ metric, count }) => [metric, count]))
}

test('a source is created, listed, changed and deleted', async () => {
  const { sources } = client
  const created = await sources.create({
    name: name(),
    unit: '°C',
    tags: { room: 'cellar', floor: '1' },
    intervalSeconds: 2.5,
  })
  expect(created).toMatchObject({ unit: '°C', intervalSeconds: 2.5 })
  const conflict = await rejection(sources.create({ name: created.name }))
  expect(conflict).toBeInstanceOf(ConflictError)
  expect((conflict as ConflictError).requestId).toMatch(/^req_/)
  expect((await sources.ensure({ name: created.name })).id).toBe(created.id)
  expect((await all(sources.iterate({ tag: { room: 'cellar' } }))).map(({ id }) => id)).toContain(created.id)
  const page = await sources.list({
    name: created.name.slice(-20).toUpperCase(),
    limit: 1,
    sort: '-createdAt',
  })
  expect(page.items.map(({ id }) => id)).toEqual([created.id])
  const changed = await sources.update(created.id, { tags: { room: null }, unit: null, expectedVersion: 1 })
  expect(changed).toMatchObject({ tags: { floor: '1' }, unit: null, version: 2 })
  const stale = await rejection(sources.update(created.id, { unit: 'K', expectedVersion: 1 }))
  expect(stale).toMatchObject({ name: 'ConflictError', details: { actualVersion: 2 } })
  await sources.delete(created.id)
  expect(await rejection(sources.get(created.id))).toBeInstanceOf(NotFoundError)
})

test('points are written in all formats and read', async () => {
  const { points } = client
  const { name: source } = await client.sources.create({ name: name() })
  const start = seconds() - 600
  const answers = [
    await points.write([{ metric: 'a', value: 1, timestamp: new Date(start * 1000), tags: { k: 'v' } }], {
      source,
    }),
    await points.writeSeries(
      [{ metric: 'b', timestamps: [start, start + 60, start + 61], values: [1, 2.5, 4] }],
      { source, precision: 's' },
    ),
    await points.writeLines(`${source.replaceAll(' ', '\\ ')},x=y c=3,d="open" ${start}`, { precision: 's' }),
  ]
  expect(answers.map(({ accepted }) => accepted)).toEqual([1, 3, 2])
  expect(await client.waitVisible(answers.map(({ checkpoint }) => checkpoint))).toBe(0)
  const series = [...(await points.query({ source, epoch: 'ms' }))]
  const rows = (metric: string): unknown => series.find((item) => item.metric === metric)?.points
  expect(rows('a')).toEqual([[start * 1000, 1]])
  expect(rows('b')).toEqual([0, 60, 61].map((shift, index) => [(start + shift) * 1000, [1, 2.5, 4][index]]))
  expect(rows('d')).toEqual([[start * 1000, 'open']])
  const bounds = { from: new Date(start * 1000), to: new Date((start + 3600) * 1000) }
  const [aggregated] = await points.aggregate(['max', 'count'], {
    source,
    metric: 'b',
    epoch: 'ms',
    ...bounds,
  })
  expect(aggregated).toMatchObject({ columns: ['timestamp', 'max', 'count'], points: [[start * 1000, 4, 3]] })
  const [latest] = await points.latest({ source, metric: 'b', epoch: 'us' })
  expect(latest?.points).toEqual([[(start + 61) * 1e6, 4]])
  expect((await all(points.series({ source, tag: { x: ['y', 'z'] } }))).map(({ metric }) => metric)).toEqual([
    'c',
    'd',
  ])
})

test('raw points of a series are read page by page', async () => {
  const { name: source } = await client.sources.create({ name: name() })
  const start = seconds() - 1000
  const columns = { metric: 'm', timestamps: range(25).map((shift) => start + shift), values: range(25) }
  const { checkpoint } = await client.points.writeSeries([columns], { source, precision: 's' })
  await client.waitVisible(checkpoint)
  const parts = (await all(client.points.iterate({ source, metric: 'm', pointsLimit: 10 }))).map(
    ({ points }) => points,
  )
  expect(parts.map(({ length }) => length)).toEqual([10, 10, 5])
  expect(parts.flat().map(([, value]) => value)).toEqual(range(25))
})

test('points are deleted', async () => {
  const source = await client.sources.create({ name: name() })
  const written = ['m', 'n'].map((metric) => ({ metric, value: 1 }))
  await client.points.write(written, { source: source.name })
  const deletion = await client.points.delete(source.id, { metric: 'm' })
  await client.waitVisible(deletion.checkpoint)
  const found = [...(await client.points.latest({ source: source.name }))]
  expect(found.map(({ metric, points }) => [metric, points.length])).toEqual([
    ['m', 0],
    ['n', 1],
  ])
})

test('errors have what the server sent', async () => {
  const error = await rejection(client.points.write([{ source: 'no such source', metric: 'm', value: 1 }]))
  expect(error).toBeInstanceOf(ValidationError)
  expect(error).toMatchObject({ status: 422, code: 'VALIDATION_ERROR', details: { rejected: 1 } })
  const other = new Client({
    url: process.env.LIVEGRAPH_URL ?? '',
    apiKey: 'lg_live_wrong',
    workspaceId: process.env.LIVEGRAPH_WORKSPACE_ID ?? '',
  })
  const refused = await rejection(other.account())
  expect(refused).toBeInstanceOf(AuthenticationError)
  expect(String(refused)).not.toContain('lg_live_wrong')
  expect((await client.account()).scopes).toContain('admin')
})

test('a writer stores every point and reports what is rejected', async () => {
  const { name: source } = await client.sources.create({ name: name() })
  const errors: WriteError[] = []
  const writer = client.writer({
    batchSize: 100,
    maxPoints: 300,
    intervalMs: 200,
    onError: (error) => errors.push(error),
  })
  for (const value of range(1050)) await writer.write({ source, metric: 'm', value, tags: { k: 'v' } })
  await writer.flush()
  await writer.write({ source: 'no such source', metric: 'm', value: 1 })
  await writer.write({ source, metric: 'old', value: 1, time: new Date('1969-01-01') })
  await writer.write({ source, metric: 'state', value: 'open' })
  await writer.close()
  expect(errors).toHaveLength(1)
  expect(errors[0]?.cause).toBeInstanceOf(RejectedError)
  expect(errors[0]?.cause).toMatchObject({ rejected: 2 })
  const { checkpoint } = await client.points.write([{ metric: 'last', value: 1 }], { source })
  await client.waitVisible(checkpoint)
  expect(await counts(source)).toEqual({ m: 1050, state: 1, last: 1 })
})

test('points are streamed, and the stream is resumed', async () => {
  const { name: source } = await client.sources.create({ name: name() })
  const stream = await client.points.stream({ source }).open()
  await client.points.write([{ metric: 'm', value: 5 }], { source })
  const event = (await stream.next()).value as PointsEvent
  const position = stream.lastId
  await stream.close()
  expect(event).toMatchObject({ event: 'points', data: [{ points: [[expect.anything(), 5]] }] })
  await client.points.write([{ metric: 'resumed', value: 7 }], { source })
  const metrics: (string | null)[] = []
  for await (const resumed of client.points.stream({ source, after: position })) {
    if (resumed.event === 'points') metrics.push(...resumed.data.map(({ metric }) => metric))
    if (metrics.includes('resumed')) break
  }
})

test('tables are written and read', async () => {
  const source = (await client.sources.create({ name: `table ${randomUUID()}` })).name
  const start = Math.floor(Date.now() / 1000) * 1000 - 20 * 3_600_000
  const rows = 60_000
  const table = tableFromArrays({
    timestamp: Array.from({ length: rows }, (_, i) => new Date(start + i * 1000)),
    x: Float64Array.from({ length: rows }, (_, i) => i),
    mode: Array.from({ length: rows }, (_, i) => (i % 3 ? null : 'on')),
    room: Array.from({ length: rows }, (_, i) => (i % 2 ? 'b' : 'a')),
  })
  const receipt = await writeArrow(client, table, { source, tags: ['room'] })
  expect([receipt.accepted, receipt.rejected]).toEqual([rows + rows / 3, 0])
  expect(receipt.checkpoints).toHaveLength(2)
  await client.waitVisible(receipt.checkpoints)

  const times = { from: new Date(start), to: new Date(start + 86_400_000) }
  const read = await queryArrow(client, { source, metric: 'x', ...times })
  expect(read.numRows).toBe(rows)
  const sum = (values: Iterable<unknown>) =>
    Array.from(values, Number).reduce((total, value) => total + value, 0)
  expect(sum(read.getChild('value') ?? [])).toBe((rows * (rows - 1)) / 2)
  expect(read.getChild('timestamp')?.get(0)).toBe(start)
  expect(new Set(read.getChild('tag.room'))).toEqual(new Set(['a', 'b']))
  const means = await queryArrow(client, {
    ...{ source, metric: 'x', ...times },
    ...{ aggregation: ['avg', 'count'], interval: '30d', groupBy: 'metric' },
  })
  expect(sum(means.getChild('count') ?? [])).toBe(rows)
  const states = await queryArrow(client, { source, metric: 'mode', ...times })
  expect(new Set(states.getChild('value.text'))).toEqual(new Set(['on']))

  // Pages of one series are one table.
  const one = { source, metric: 'x', tag: { room: 'a' }, ...times }
  const paged = await queryArrow(client, { ...one, pointsLimit: 10_001 })
  expect(paged.numRows).toBe(rows / 2)
  expect([...(paged.getChild('value') ?? [])]).toEqual(Array.from({ length: rows / 2 }, (_, i) => 2 * i))

  const series = await seriesArrow(client, { source })
  expect(Array.from(series.getChild('count') ?? [], Number).sort((a, b) => a - b)).toEqual([
    rows / 6,
    rows / 6,
    rows / 2,
    rows / 2,
  ])
  const node = await client.nodes.create({ name: source, entityType: 'object', properties: { kW: 11 } })
  const nodes = await nodesArrow(client, { ids: node.id })
  expect(nodes.getChild('properties')?.get(0)).toBe('{"kW":11}')
  expect((await edgesArrow(client, { nodeId: node.id })).numRows).toBe(0)
}, 120_000)
