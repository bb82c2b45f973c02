/** A server on this machine that a function implements, and clients of it. */

import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

import { onTestFinished } from 'vitest'

import { Client, type ConnectionOptions } from '../../src/index.js'

export const key = 'lg_live_secretsecretsecret'
export const workspace = '0194a5b0-0000-7000-8000-00000000000a'
export const quick = { firstMs: 1, maxMs: 2, totalMs: 20_000 }

/** A request that the server received. */
export interface Received {
  method: string
  path: string
  query: [string, string][]
  headers: IncomingHttpHeaders
  text: string
}

/** What the server sends. `broken` ends the connection after the body, before the response is complete. */
export interface Reply {
  status?: number
  headers?: Record<string, string>
  body?: string
  broken?: boolean
}

type Handle = (request: Received, response: ServerResponse) => Reply | undefined | Promise<Reply | undefined>

/** The connection is refused. The client's fetch fails as that of Node.js does. */
export const refused = 'refused'
/** The connection ends without a response. */
export const cut = 'cut'

/** A server with the requests that it received. */
export interface Server {
  url: string
  requests: Received[]
  client: (options?: ConnectionOptions) => Client
}

/** Starts a server. A reply of undefined means that the handler writes the response itself. */
export async function serve(handle: Handle): Promise<Server> {
  const requests: Received[] = []
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const url = new URL(request.url ?? '', 'http://server')
      const bytes = Buffer.concat(chunks)
      const body = request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes
      const received = {
        method: request.method ?? '',
        path: url.pathname,
        query: [...url.searchParams],
        headers: request.headers,
        text: body.toString(),
      }
      requests.push(received)
      void Promise.resolve(handle(received, response)).then((reply) => reply && write(response, reply))
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  return { url, requests, client: (options) => clientOf(url, options) }
}

function write(response: ServerResponse, reply: Reply): void {
  response.writeHead(reply.status ?? 200, reply.headers)
  if (!reply.broken) response.end(reply.body ?? '')
  else response.write(reply.body ?? '', () => response.destroy())
}

/** Returns a client with quick retries. */
export function clientOf(url: string, options: ConnectionOptions = {}): Client {
  return new Client({ url, apiKey: key, workspaceId: workspace, retry: quick, ...options })
}

/** Starts a server that gives replies in order, and then fails. */
export async function replies(...list: (Reply | typeof refused | typeof cut)[]): Promise<Server> {
  const server = await serve((_, response) => {
    const reply = list.shift() ?? { status: 418, body: 'no reply is left' }
    if (reply === cut) response.destroy()
    return typeof reply === 'string' ? undefined : reply
  })
  // A port that refuses one connection and accepts the next cannot be made.
  const fetch: typeof globalThis.fetch = (input, init) => {
    if (list[0] !== refused) return globalThis.fetch(input, init)
    list.shift()
    server.requests.push({ method: '', path: '', query: [], headers: headersOf(init), text: '' })
    const cause = Object.assign(new Error('connect ECONNREFUSED'), {
      code: 'ECONNREFUSED',
      syscall: 'connect',
    })
    return Promise.reject(new TypeError('fetch failed', { cause }))
  }
  return { ...server, client: (options) => clientOf(server.url, { fetch, ...options }) }
}

function headersOf(init: RequestInit | undefined): IncomingHttpHeaders {
  return Object.fromEntries(new Headers(init?.headers))
}

/** A response with data. */
export function answer(data: unknown, status = 200, meta?: object): Reply {
  return { status, body: JSON.stringify({ success: true, data, requestId: 'req_1', ...(meta && { meta }) }) }
}

/** A response with a page of a list. */
export function page(
  items: unknown[],
  { cursor = null, more = false }: { cursor?: string | null; more?: boolean } = {},
) {
  return answer(items, 200, { total: 9, limit: 100, offset: 0, hasMore: more, nextCursor: cursor })
}

/** A response with an error. */
export function failure(
  status: number,
  code = 'INTERNAL_ERROR',
  after?: number,
  details: object = {},
): Reply {
  const error = { code, message: 'it failed', details }
  return {
    status,
    body: JSON.stringify({ success: false, error, requestId: 'req_2' }),
    headers: after === undefined ? {} : { 'Retry-After': String(after) },
  }
}

/** Returns the values of the points in a request. */
export function valuesOf(request: Received): unknown[] {
  return (JSON.parse(request.text) as { points: { value: unknown }[] }).points.map(({ value }) => value)
}

/** The response to an ingest of rows. */
export function receipt(request: Received, rejected = 0): Reply {
  const errors = rejected ? [{ index: 0, field: 'points[0]', reason: 'is bad', count: rejected }] : []
  return answer({ accepted: valuesOf(request).length - rejected, rejected, errors, checkpoint: 'c' }, 201)
}

/** A promise with the function that resolves it. */
export function gate(): { opened: Promise<void>; open: () => void } {
  let open = (): void => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

/** Returns the error with which a promise is rejected. */
export async function rejection(promise: PromiseLike<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  throw new Error('the promise was resolved')
}

/** Returns all items of an iteration. */
export async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const item of items) found.push(item)
  return found
}
