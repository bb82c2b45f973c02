/**
 * Tables of Apache Arrow. This module, `livegraph/arrow`, requires the package `apache-arrow`, which no other module
 * loads.
 */

import {
  DataType,
  Dictionary,
  Int32,
  makeData,
  Table,
  tableFromIPC,
  TimeUnit,
  Type,
  Utf8,
  Vector,
  vectorFromArray,
} from 'apache-arrow'

import type { Client } from './client.js'
import type {
  AggregateQuery,
  Aggregation,
  EdgeFilter,
  NodeFilter,
  RawQuery,
  RequestOptions,
  SeriesSelector,
} from './filters.js'
import { queryPath } from './points.js'
import { selection } from './request.js'
import type { IngestAnswer, NewSeries, Rejection } from './types.js'

const accept = { Accept: 'application/vnd.apache.arrow.stream' }
/** The number of items on a page of columns. */
const maxItems = 10_000
/** The number of values in a request. */
const maxValues = 50_000
const framePoints = 1_000_000

/** Selects points, raw or aggregated. */
export type ArrowQuery = (
  RawQuery | (AggregateQuery & { aggregation: Aggregation | readonly Aggregation[] })
) &
  RequestOptions

/**
 * Returns points as a table with one row per point, or bucket, in the order of time.
 *
 * The columns are those of the API: `timestamp` (microseconds, UTC), `sourceId`, `sourceName`, `metric`, `kind`,
 * `unit`, `tag.<key>`, and `value` or one column per function, with `<name>.text` for strings.
 *
 * @throws ValidationError if the points of several series are more than `pointsLimit`, 1,000,000 by default
 */
export function queryArrow(client: Client, { signal, ...selector }: ArrowQuery = {}): Promise<Table> {
  const functions = 'aggregation' in selector ? selector.aggregation : undefined
  const aggregation = typeof functions === 'string' ? functions : functions?.join(',')
  const fields = { limit: maxItems, pointsLimit: framePoints, ...selector, aggregation }
  return read(client, queryPath, fields, signal)
}

/** Returns the series as a table, in requests of up to 10,000. `tags` has texts of JSON. */
export function seriesArrow(
  client: Client,
  { signal, ...selector }: SeriesSelector & RequestOptions = {},
): Promise<Table> {
  return read(client, '/api/live-data/series', { limit: maxItems, ...selector }, signal)
}

/** Returns all nodes that match all filters as a table, in requests of up to 10,000. `properties` has texts of JSON. */
export function nodesArrow(
  client: Client,
  { signal, ...filters }: NodeFilter & RequestOptions = {},
): Promise<Table> {
  return read(client, '/api/queries/nodes', { limit: maxItems, ...filters }, signal)
}

/** Returns all edges that match all filters as a table, in requests of up to 10,000. `properties` has texts of JSON. */
export function edgesArrow(
  client: Client,
  { signal, ...filters }: EdgeFilter & RequestOptions = {},
): Promise<Table> {
  return read(client, '/api/queries/edges', { limit: maxItems, ...filters }, signal)
}

async function read(client: Client, path: string, fields: object, signal?: AbortSignal): Promise<Table> {
  const pages = await client.contents(path, selection(fields), accept, { signal })
  const tables = pages.map((page) => tableFromIPC(page))
  return tables.length === 1 && tables[0] ? tables[0] : concat(tables)
}

/** Returns the rows of all tables. A column that a table does not have is null there. */
function concat(tables: readonly Table[]): Table {
  const types = new Map<string, DataType>()
  for (const { schema } of tables) {
    for (const field of schema.fields)
      if (!types.has(field.name)) types.set(field.name, field.type as DataType)
  }
  const columns = [...types].map(([name, type]) => {
    const parts = tables.map((table) => table.getChild(name) ?? nulls(type, table.numRows))
    return [name, DataType.isDictionary(type) ? unify(parts) : parts.reduce((all, part) => all.concat(part))]
  })
  return new Table(Object.fromEntries(columns) as Record<string, Vector>)
}

function nulls(type: DataType, length: number): Vector {
  // The type is that of the column, and not the one that is inferred from the values.
  return vectorFromArray<DataType>(Array<null>(length).fill(null), type)
}

/** Returns a column of names whose parts have different dictionaries. */
function unify(parts: readonly Vector[]): Vector {
  const entries = new Map<string, number>()
  const type = new Dictionary(new Utf8(), new Int32())
  const chunks = parts.flatMap((part) =>
    part.data.map((chunk) => {
      const ids = Array.from(chunk.dictionary ?? [], (entry: string) => {
        const id = entries.get(entry) ?? entries.size
        entries.set(entry, id)
        return id
      })
      const indices = chunk.values as Int32Array
      const { length, nullCount, nullBitmap } = chunk
      return { length, nullCount, nullBitmap, data: Int32Array.from(indices, (index) => ids[index] ?? 0) }
    }),
  )
  const dictionary = vectorFromArray([...entries.keys()], new Utf8())
  return new Vector(chunks.map((chunk) => makeData({ type, dictionary, ...chunk })))
}

/** How the columns of a table are written. */
export interface WriteArrowOptions extends RequestOptions {
  /** The name of the source, which must exist. */
  source: string
  /** The column with the times, `timestamp` by default. Times without a time zone are in UTC, as those of Dates. */
  time?: string
  /** The columns with the tags. */
  tags?: readonly string[]
}

/** The result of `writeArrow`. */
export interface ArrowReceipt {
  /** The number of accepted points. They are durable. */
  accepted: number
  /** The number of rejected points. */
  rejected: number
  /** Why points were rejected. */
  errors: Rejection[]
  /** The checkpoints for `waitVisible`, one of each request. */
  checkpoints: string[]
}

/**
 * Writes the columns of a table as series, in requests of at most 50,000 values.
 *
 * Each column is a metric, except for those of the time and the tags. Cells without a value, or with NaN, are omitted.
 * If a request fails, those before it are stored; it is safe to write the table again.
 *
 * @throws RangeError if a column does not exist, or a time is missing
 * @throws TypeError if a column contains something else than numbers, booleans or strings, or the time no times
 */
export async function writeArrow(
  client: Client,
  table: Table,
  { source, time = 'timestamp', tags = [], signal }: WriteArrowOptions,
): Promise<ArrowReceipt> {
  const receipt: ArrowReceipt = { accepted: 0, rejected: 0, errors: [], checkpoints: [] }
  for (const series of requests(table, source, time, tags)) {
    add(receipt, await client.points.writeSeries(series, { precision: 'us', signal }))
  }
  return receipt
}

function add(receipt: ArrowReceipt, { accepted, rejected, errors, checkpoint }: IngestAnswer): void {
  receipt.accepted += accepted
  receipt.rejected += rejected
  receipt.errors.push(...errors)
  receipt.checkpoints.push(checkpoint)
}

type Value = number | boolean | string

/** Iterates over requests with the values of a table, each with at most maxValues. All columns are checked before. */
function* requests(
  table: Table,
  source: string,
  time: string,
  tags: readonly string[],
): Generator<NewSeries[], void> {
  const column = (name: string): Vector => {
    const found = table.getChild(name)
    if (!found) throw new RangeError(`the table has no column ${JSON.stringify(name)}`)
    return found
  }
  const times = microseconds(time, column(time))
  const groups = groupsOf(tags, tags.map(column), times.length)
  const names = table.schema.names.map(String).filter((name) => name !== time && !tags.includes(name))
  const metrics = names.map((metric) => ({ metric, cells: valuesOf(metric, column(metric)) }))
  let [batch, free]: [NewSeries[], number] = [[], maxValues]
  for (const { labels, rows } of groups) {
    for (const { metric, cells } of metrics) {
      const given = rows.filter((row) => hasValue(cells.get(row)))
      for (let start = 0; start < given.length;) {
        const part = given.slice(start, start + free)
        batch.push({
          source,
          metric,
          tags: labels,
          timestamps: part.map((row) => times[row] ?? 0),
          values: part.map((row) => valueOf(cells.get(row) as Cell)),
        })
        start += part.length
        free -= part.length
        if (free > 0) continue
        yield batch
        ;[batch, free] = [[], maxValues]
      }
    }
  }
  if (batch.length > 0) yield batch
}

type Cell = Value | bigint

const hasValue = (cell: unknown): boolean => cell != null && !Number.isNaN(cell)

const valueOf = (cell: Cell): Value => (typeof cell === 'bigint' ? Number(cell) : cell)

const kinds = new Set<Type>([Type.Null, Type.Int, Type.Float, Type.Bool, Type.Utf8, Type.LargeUtf8])

/** Returns a column of a metric, which has numbers, booleans or strings. */
function valuesOf(name: string, column: Vector): Vector {
  const type = column.type as DataType
  const plain: DataType = DataType.isDictionary(type) ? (type.dictionary as DataType) : type
  if (!kinds.has(plain.typeId)) {
    throw new TypeError(`the column ${JSON.stringify(name)} contains values of type ${Type[type.typeId]}`)
  }
  return column
}

/** Returns the times of a column in microseconds. */
function microseconds(name: string, column: Vector): number[] {
  const type = column.type as DataType
  if (!DataType.isTimestamp(type) && !DataType.isDate(type)) {
    throw new TypeError(`the column ${JSON.stringify(name)} contains no times`)
  }
  if (column.nullCount > 0) throw new RangeError('a time is missing')
  if (!DataType.isTimestamp(type)) return Array.from(column, (ms) => Math.round(Number(ms) * 1000))
  // Vector.get returns milliseconds, as fractions.
  const inMicroseconds = units[type.unit]
  return column.data.flatMap(({ values, length }) =>
    Array.from((values as BigInt64Array).subarray(0, length), inMicroseconds),
  )
}

const units: Record<TimeUnit, (value: bigint) => number> = {
  [TimeUnit.SECOND]: (value) => Number(value) * 1_000_000,
  [TimeUnit.MILLISECOND]: (value) => Number(value) * 1000,
  [TimeUnit.MICROSECOND]: (value) => Number(value),
  [TimeUnit.NANOSECOND]: (value) => Number(value / 1000n),
}

interface Group {
  labels: Record<string, string>
  rows: number[]
}

/** Returns the rows by their tags, in the order in which they occur. Tags without a value are omitted. */
function groupsOf(tags: readonly string[], columns: readonly Vector[], rows: number): Iterable<Group> {
  const groups = new Map<string, Group>()
  for (let row = 0; row < rows; row++) {
    const cells = columns.map((column) => column.get(row) as unknown)
    const values = cells.map((cell) => (cell == null ? null : String(cell as Value)))
    const key = JSON.stringify(values)
    let group = groups.get(key)
    if (!group) {
      const given = tags.map((tag, i) => [tag, values[i]] as const)
      const labels = Object.fromEntries(given.filter((pair): pair is [string, string] => pair[1] != null))
      groups.set(key, (group = { labels, rows: [] }))
    }
    group.rows.push(row)
  }
  return groups.values()
}
