/** Builds requests. Nothing here does input or output. */

import type { KeyBounds, KeyFilter } from './filters.js'

/** The parameters of a URL in order. */
export type Query = readonly (readonly [name: string, value: string])[]

/** One request of the API. T is the type of the data in the response. */
export interface Request<T> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly query?: Query
  readonly body?: string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
  /**
   * False if a repetition of the request could change something that the first did not, or hide its result. Such a
   * request is only repeated if it was certainly not executed.
   */
  readonly repeatable?: boolean
  /** Never set: it binds T. */
  readonly data?: T
}

export const json = { 'Content-Type': 'application/json' }
/** Commands wait for their result as long as the server allows. */
export const command = { ...json, Prefer: 'wait=30' }

const gzipMinBytes = 1024

/** Returns URL parameters. Undefined is omitted, an array becomes a repeated parameter. */
export function query(fields: object): Query {
  const pairs: [string, string][] = []
  for (const [name, value] of Object.entries(fields) as [string, unknown][]) {
    if (value == null) continue
    for (const item of Array.isArray(value) ? (value as unknown[]) : [value]) pairs.push([name, textOf(item)])
  }
  return pairs
}

function textOf(value: unknown): string {
  return value instanceof Date ? value.toISOString() : String(value)
}

const families = ['tag', 'property', 'propertyMin', 'propertyMax', 'propertyPrefix']

/** Returns the URL parameters of a list, whose filters by key become parameters such as `tag.room=cellar`. */
export function selection(fields: object): Query {
  const given = Object.entries(fields) as [string, KeyFilter | KeyBounds | undefined][]
  const others = given.filter(([name]) => !families.includes(name))
  return [
    ...query(Object.fromEntries(others)),
    ...given.filter(([name]) => families.includes(name)).flatMap(([name, values]) => keys(name, values)),
  ]
}

function keys(name: string, values: KeyFilter | KeyBounds | undefined): Query {
  return query(
    Object.fromEntries(Object.entries(values ?? {}).map(([key, value]) => [`${name}.${key}`, value])),
  )
}

/** Returns the query with another value of a parameter. Undefined removes it. */
export function replaced(given: Query, changes: Record<string, string | undefined>): Query {
  return [...given.filter(([name]) => !Object.hasOwn(changes, name)), ...query(changes)]
}

/**
 * Returns the request of the next page that a header `Link` names, or undefined. Only the parameters of the link are
 * used, so that the key is sent to no other server.
 */
export function following<T>(request: Request<T>, link: string): Request<T> | undefined {
  const next = /<([^>]*)>\s*;\s*rel="next"/.exec(link)?.[1]
  if (next === undefined) return undefined
  return { ...request, query: [...new URL(next, 'http://server').searchParams] }
}

/**
 * Returns a value as JSON.
 *
 * @throws TypeError if the value contains something that JSON would turn into another value, such as NaN
 */
export function encode(value: unknown): string {
  const text = JSON.stringify(value)
  // JSON.stringify writes null for what it cannot write, and null removes a field or a property.
  if (text.includes('null') || text.includes('\\ud')) refuseUnwritable(value)
  return text
}

function refuseUnwritable(value: unknown): void {
  if (typeof value === 'number' && !Number.isFinite(value))
    throw new TypeError(`the number ${value} is not finite`)
  if (value instanceof Date && Number.isNaN(value.getTime())) throw new TypeError('a Date is invalid')
  if (typeof value === 'string' && /\p{Surrogate}/u.test(value)) {
    throw new TypeError('a text contains half of a surrogate pair')
  }
  if (Array.isArray(value)) {
    for (const item of value as unknown[]) {
      if (item === undefined || typeof item === 'function' || typeof item === 'symbol') {
        throw new TypeError(`an array contains a value of type ${typeof item}`)
      }
      refuseUnwritable(item)
    }
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, inner] of Object.entries(value) as [string, unknown][]) {
      refuseUnwritable(key)
      refuseUnwritable(inner)
    }
  }
}

/**
 * Returns an id as a part of a path.
 *
 * @throws TypeError if the id is empty or `.` or `..`, which would be another path
 */
export function part(id: string): string {
  const escaped = encodeURIComponent(id)
  if (['', '.', '..'].includes(escaped)) throw new TypeError(`${JSON.stringify(id)} is not an id`)
  return escaped
}

/** Returns the header with an idempotency key, by default a new one. */
export function idempotency(key: string = uuid()): { 'Idempotency-Key': string } {
  return { 'Idempotency-Key': key }
}

function uuid(): string {
  // In browsers, randomUUID exists only on pages that were loaded over HTTPS.
  if ('randomUUID' in crypto) return crypto.randomUUID()
  const bytes = (crypto as Crypto).getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns the bytes of a file as base64. */
export function base64(bytes: Uint8Array): string {
  const size = 3 << 13 // a multiple of three, so that only the last part is padded; few enough arguments for a call
  const parts: string[] = []
  for (let start = 0; start < bytes.length; start += size) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(start, start + size))))
  }
  return parts.join('')
}

/** Returns the request with a compressed body, if that is worth it and possible. */
export async function compressed<T>(request: Request<T>): Promise<Request<T>> {
  if (request.body === undefined || request.body.length < gzipMinBytes) return request
  if (typeof CompressionStream === 'undefined') return request
  const plain = new Blob([request.body as BlobPart]).stream()
  const body = await new Response(plain.pipeThrough(new CompressionStream('gzip'))).arrayBuffer()
  return {
    ...request,
    body: new Uint8Array(body),
    headers: { ...request.headers, 'Content-Encoding': 'gzip' },
  }
}
