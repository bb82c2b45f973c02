// Tables of Apache Arrow.

import {
  Dictionary,
  Field,
  Int32,
  Schema,
  Table,
  tableFromArrays,
  tableToIPC,
  TimestampMicrosecond,
  TimestampNanosecond,
  TimestampSecond,
  Utf8,
  type Vector,
  vectorFromArray,
} from 'apache-arrow'
import { expect, test } from 'vitest'

import { nodesArrow, queryArrow, seriesArrow, writeArrow } from '../../src/arrow.js'
import { type Received, rejection, serve, type Server } from '../support/server.js'

const names = () => new Dictionary(new Utf8(), new Int32())
const at = Date.UTC(2026, 0, 1)

/** Starts a server that sends tables as pages. */
async function pagesOf(...tables: Table[]): Promise<Server> {
  return serve(({ query }, response) => {
    const page = Number(new Map(query).get('cursor') ?? 0)
    const next = page + 1 < tables.length
    response.writeHead(200, {
      'Content-Type': 'application/vnd.apache.arrow.stream',
      ...(next && { Link: `<http://elsewhere/api/x?format=arrow&cursor=${page + 1}>; rel="next"` }),
    })
    response.end(tableToIPC(tables[page] as Table, 'stream'))
    return undefined
  })
}

const rowsOf = (table: Table) =>
  table.toArray().map((row) => (row as { toJSON: () => Record<string, unknown> }).toJSON())

test('a page is a table with the types of the response', async () => {
  const type = new TimestampMicrosecond('UTC')
  const fields = [new Field('timestamp', type, false), new Field('metric', names(), false)]
  const sent = new Table(new Schema(fields), {
    timestamp: vectorFromArray([at, at + 1], type),
    metric: vectorFromArray(['a', 'a'], names()),
  })
  const server = await pagesOf(sent)
  const table = await queryArrow(server.client(), {
    sourceId: ['a', 'b'],
    tag: { room: 'x' },
    from: new Date(at),
  })
  expect(table.schema.fields.map(({ name, type }) => `${name} ${String(type)}`)).toEqual(
    sent.schema.fields.map(({ name, type }) => `${name} ${String(type)}`),
  )
  expect(rowsOf(table)).toEqual([
    { timestamp: at, metric: 'a' },
    { timestamp: at + 1, metric: 'a' },
  ])
  const [request] = server.requests as [Received]
  expect(request.headers.accept).toBe('application/vnd.apache.arrow.stream')
  expect(request.query).toEqual([
    ['limit', '10000'],
    ['pointsLimit', '1000000'],
    ['sourceId', 'a'],
    ['sourceId', 'b'],
    ['from', '2026-01-01T00:00:00.000Z'],
    ['tag.room', 'x'],
  ])
})

test('pages with other columns and names become one table', async () => {
  const page = (metric: (string | null)[], extra: Record<string, unknown>) =>
    new Table({ metric: vectorFromArray(metric, names()), ...extra } as never)
  const server = await pagesOf(
    page(['a', 'b'], { value: vectorFromArray([1, 2]) }),
    page(['b', null, 'c'], { 'value.text': vectorFromArray(['x', 'y', 'z'], new Utf8()) }),
    page([], { value: vectorFromArray([] as number[]), 'tag.room': vectorFromArray([], names()) }),
    page(['a'], { 'tag.room': vectorFromArray(['cellar'], names()), value: vectorFromArray([3]) }),
  )
  const table = await seriesArrow(server.client())
  const row = (metric: unknown, value: unknown, text: unknown, room: unknown) => ({
    metric,
    value,
    'value.text': text,
    'tag.room': room,
  })
  const rows = [
    row('a', 1, null, null),
    row('b', 2, null, null),
    row('b', null, 'x', null),
    row(null, null, 'y', null),
    row('c', null, 'z', null),
    row('a', 3, null, 'cellar'),
  ]
  expect(rowsOf(table)).toEqual(rows)
  const [metric] = (table.getChild('metric') as Vector).data
  expect(metric?.dictionary?.toArray()).toEqual(['a', 'b', 'c'])
  expect(server.requests.map(({ path }) => path)).toEqual(Array(4).fill('/api/live-data/series'))
  expect(server.requests[2]?.query).toEqual([
    ['format', 'arrow'],
    ['cursor', '2'],
  ])
})

test('functions are selected as in the API, and errors are those of the API', async () => {
  const server = await serve(() => ({
    status: 422,
    body: JSON.stringify({ error: { code: 'VALIDATION_ERROR', message: 'too many', details: {} } }),
  }))
  const query = { aggregation: ['avg', 'max'], interval: '1m', pointsLimit: 5 } as const
  expect(String(await rejection(queryArrow(server.client(), query)))).toContain('too many')
  expect(server.requests[0]?.query).toContainEqual(['aggregation', 'avg,max'])
  expect(server.requests[0]?.query).toContainEqual(['pointsLimit', '5'])
  await rejection(nodesArrow(server.client(), { entityType: 'object', propertyMin: { kW: 5 } }))
  expect(server.requests[1]?.query).toEqual([
    ['limit', '10000'],
    ['entityType', 'object'],
    ['propertyMin.kW', '5'],
  ])
})

interface Body {
  precision: string
  series: { source: string; metric: string; tags: object; timestamps: number[]; values: unknown[] }[]
}

/** Starts a server that accepts all points. */
async function ingest(): Promise<{ server: Server; bodies: () => Body[] }> {
  const server = await serve(({ text }) => {
    const { series } = JSON.parse(text) as Body
    const accepted = series.reduce((sum, { values }) => sum + values.length, 0)
    const data = { accepted, rejected: 1, errors: [{ reason: 'r' }], checkpoint: `c${accepted}` }
    return { status: 201, body: JSON.stringify({ success: true, data }) }
  })
  return { server, bodies: () => server.requests.map(({ text }) => JSON.parse(text) as Body) }
}

test('columns are written as series, by tags', async () => {
  const { server, bodies } = await ingest()
  const table = new Table({
    at: vectorFromArray(
      [0n, 1n, 2n, 3n].map((n) => Number(n) / 1000 + at),
      new TimestampMicrosecond('UTC'),
    ),
    room: vectorFromArray(['a', 'b', null, 'a'], names()),
    n: vectorFromArray([1n, 2n, 3n, null]),
    x: vectorFromArray([0.5, NaN, null, 1.5]),
    open: vectorFromArray([true, false, null, true]),
    mode: vectorFromArray([null, 'on', 'off', null], names()),
    nothing: vectorFromArray([null, null, null, null]),
  } as never)
  const options = { source: 'pump', time: 'at', tags: ['room'] }
  expect(await writeArrow(server.client(), table, options)).toEqual({
    accepted: 10,
    rejected: 1,
    errors: [{ reason: 'r' }],
    checkpoints: ['c10'],
  })
  const us = at * 1000
  const of = (metric: string, room: string | null, offsets: number[], values: unknown[]) => ({
    source: 'pump',
    metric,
    tags: room ? { room } : {},
    timestamps: offsets.map((offset) => us + offset),
    values,
  })
  expect(bodies()).toEqual([
    {
      precision: 'us',
      series: [
        of('n', 'a', [0], [1]),
        of('x', 'a', [0, 3], [0.5, 1.5]),
        of('open', 'a', [0, 3], [true, true]),
        of('n', 'b', [1], [2]),
        of('open', 'b', [1], [false]),
        of('mode', 'b', [1], ['on']),
        of('n', null, [2], [3]),
        of('mode', null, [2], ['off']),
      ],
    },
  ])
})

test('times have any unit, and those of Dates are in UTC', async () => {
  const date = new Date(at)
  for (const [column, us] of [
    [vectorFromArray([at], new TimestampSecond('UTC')), at * 1000],
    [vectorFromArray([at + 0.001], new TimestampMicrosecond('Europe/Berlin')), at * 1000 + 1],
    [vectorFromArray([at], new TimestampNanosecond()), at * 1000],
    [vectorFromArray([date]), at * 1000],
  ] as const) {
    const { server, bodies } = await ingest()
    const table = new Table({ timestamp: column, v: vectorFromArray([1]) } as never)
    await writeArrow(server.client(), table, { source: 's' })
    expect(bodies()[0]?.series[0]?.timestamps, String(column.type)).toEqual([us])
  }
})

test('large tables, and parts of them, are written in several requests', async () => {
  const { server, bodies } = await ingest()
  const rows = 60_000
  const table = tableFromArrays({
    timestamp: Array.from({ length: rows }, (_, i) => new Date(at + i)),
    x: Float64Array.from({ length: rows }, (_, i) => i),
    y: Float64Array.from({ length: rows }, (_, i) => -i),
  }).concat(
    tableFromArrays({
      timestamp: [new Date(at + rows)],
      x: Float64Array.of(rows),
      y: Float64Array.of(-rows),
    }),
  )
  const receipt = await writeArrow(server.client(), table, { source: 's' })
  expect(receipt.checkpoints).toEqual(['c50000', 'c50000', 'c20002'])
  const series = bodies().flatMap((body) => body.series)
  expect(series.map(({ metric, values }) => `${metric} ${values.length}`)).toEqual([
    'x 50000',
    'x 10001',
    'y 39999',
    'y 20002',
  ])
  const values = (metric: string) => series.filter((s) => s.metric === metric).flatMap((s) => s.values)
  expect(values('x')).toEqual(Array.from({ length: rows + 1 }, (_, i) => i))
  expect(series.filter((s) => s.metric === 'y').flatMap((s) => s.timestamps)).toEqual(
    Array.from({ length: rows + 1 }, (_, i) => (at + i) * 1000),
  )

  const { server: other, bodies: sliced } = await ingest()
  await writeArrow(other.client(), table.slice(59_999, 60_001), { source: 's' })
  expect(sliced()[0]?.series[0]).toMatchObject({
    timestamps: [(at + 59_999) * 1000, (at + 60_000) * 1000],
    values: [59_999, 60_000],
  })
  expect((await writeArrow(other.client(), table.slice(0, 0), { source: 's' })).checkpoints).toEqual([])
})

test('what cannot be written is refused before a request', async () => {
  const { server } = await ingest()
  const timestamp = vectorFromArray([new Date(at), new Date(at)])
  const v = vectorFromArray([1, 2])
  for (const [columns, tags, error] of [
    [{ v }, [], /^RangeError: the table has no column "timestamp"/],
    [{ timestamp, v }, ['room'], /^RangeError: the table has no column "room"/],
    [{ timestamp: v, v }, [], /^TypeError: the column "timestamp" contains no times/],
    [{ timestamp: vectorFromArray([new Date(at), null]), v }, [], /^RangeError: a time is missing/],
    [{ timestamp, v, t: timestamp }, [], /^TypeError: the column "t" contains values of type/],
    [
      { timestamp, v, t: vectorFromArray([[1], [2]]) },
      [],
      /^TypeError: the column "t" contains values of type/,
    ],
    [{ timestamp, v: vectorFromArray([1, Infinity]) }, [], /^TypeError: the number Infinity is not finite/],
  ] as const) {
    const table = new Table(columns as never)
    const failed = await rejection(writeArrow(server.client(), table, { source: 's', tags }))
    expect(String(failed)).toMatch(error)
  }
  expect(server.requests).toEqual([])
})
