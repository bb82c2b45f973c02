/** Parses responses. Nothing here does input or output. */

import { type APIError, type APIErrorFields, errorClass, ResponseError } from './errors.js'
import { type Query, replaced } from './request.js'
import type { Meta, Problem, PrometheusResult } from './types.js'

/** A response whose body has been read. */
export interface Answer {
  readonly status: number
  readonly statusText: string
  readonly headers: Headers
  readonly text: string
}

/** A page of a list. Iterating over it returns its items. */
export class Page<T, M extends Meta = Meta> implements Iterable<T> {
  /** The items of the page. */
  readonly items: readonly T[]
  /** The metadata of the page. */
  readonly meta: M

  constructor(items: readonly T[], meta: M) {
    this.items = items
    this.meta = meta
  }

  [Symbol.iterator](): Iterator<T> {
    return this.items[Symbol.iterator]()
  }

  /** The number of items of the page. */
  get length(): number {
    return this.items.length
  }

  /** The number of all items that match, on all pages. */
  get total(): number {
    return this.meta.total
  }

  /** Whether another page follows. */
  get hasMore(): boolean {
    return this.meta.hasMore
  }

  /** The cursor of the next page; null at the end and in lists that are paged by offset. */
  get nextCursor(): string | null {
    return this.meta.nextCursor
  }
}

type Fields = Record<string, unknown>

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Returns the body of a response.
 *
 * @throws ResponseError if the body is not JSON
 */
function parseJSON(answer: Answer): unknown {
  try {
    return JSON.parse(answer.text)
  } catch (cause) {
    throw new ResponseError(`The response with status ${answer.status} is not JSON`, { cause })
  }
}

/** Returns the error of a response that is not a success. */
export function parseError(answer: Answer): APIError {
  let body: unknown
  try {
    body = JSON.parse(answer.text)
  } catch {
    body = undefined // a proxy may have answered
  }
  return errorOf(body, answer.statusText || 'unexpected status', {
    status: answer.status,
    requestId: answer.headers.get('X-Request-Id') ?? '',
    retryAfterMs: retryAfter(answer.headers.get('Retry-After') ?? ''),
  })
}

/** Returns the error in the data of an event of a stream. */
export function eventError(data: unknown): APIError {
  return errorOf(data, 'the server failed', {})
}

/** Returns the error of a body. The fields apply where the body has none. */
function errorOf(body: unknown, text: string, known: APIErrorFields): APIError {
  const fields = isObject(body) ? body : {}
  // The routes of Prometheus have the message in error.
  const problem = isObject(fields.error) ? fields.error : { message: fields.error, code: fields.errorType }
  const code = textOf(problem.code)
  const kind = errorClass(known.status ?? 0, code)
  return new kind(textOf(problem.message) || text, {
    ...known,
    code,
    requestId: textOf(fields.requestId) || (known.requestId ?? ''),
    details: isObject(problem.details) ? problem.details : {},
  })
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** Returns the milliseconds of a Retry-After header with seconds or a date; undefined if it has neither. */
export function retryAfter(header: string): number | undefined {
  if (/^[0-9]+$/.test(header)) return Number(header) * 1000
  // Date.parse also accepts texts that are no dates, such as -1.
  const date = /^[A-Z][a-z]{2}/.test(header) ? Date.parse(header) : NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

function parseEnvelope(answer: Answer): Fields {
  const body = parseJSON(answer)
  if (!isObject(body) || body.success !== true || !('data' in body)) {
    throw new ResponseError('The response has no envelope of Livegraph')
  }
  return body
}

/** Returns `data` of the envelope; undefined for a response without content. */
export function parseData(answer: Answer): unknown {
  return answer.status === 204 ? undefined : parseEnvelope(answer).data
}

/** Returns a page of a list. */
export function parsePage<T, M extends Meta>(answer: Answer): Page<T, M> {
  const { data, meta } = parseEnvelope(answer)
  if (!Array.isArray(data) || !isObject(meta)) throw new ResponseError('The response is not a page of a list')
  return new Page(data as T[], meta as M)
}

/**
 * Returns the query of the page after the given one, or undefined at the end.
 *
 * A cursor is stable during concurrent writes, so it is preferred to the offset, which is the number of items before
 * the next page.
 */
export function nextQuery(query: Query, page: Page<unknown>, offset: number): Query | undefined {
  if (page.nextCursor !== null) return replaced(query, { cursor: page.nextCursor, offset: undefined })
  if (page.hasMore && page.length > 0) return replaced(query, { offset: String(offset), cursor: undefined })
  return undefined
}

/** Returns the error of one command of a batch that is not atomic. */
export function batchError(problem: Problem): APIError {
  return new (errorClass(0, problem.code))(problem.message, {
    code: problem.code,
    details: problem.details ?? {},
  })
}

/** Returns the result of a query in PromQL. */
export function parsePrometheus(answer: Answer): PrometheusResult {
  const body = parseJSON(answer)
  if (!isObject(body) || body.status !== 'success') {
    throw new ResponseError('The response is not a result of Prometheus')
  }
  return body as PrometheusResult
}
