/** Sends requests and repeats them. */

import { chunks, Watch } from './connection.js'
import type { RequestOptions } from './filters.js'
import { LivegraphError, ResponseError } from './errors.js'
import { compressed, following, type Request } from './request.js'
import { type Answer, nextQuery, type Page, parseData, parseError, parsePage } from './response.js'
import { Attempts, type Retry } from './retry.js'
import type { Meta } from './types.js'
import { version } from './version.js'
import { sleep } from './wait.js'

/** How a transport reaches a workspace. */
export interface TransportOptions {
  readonly base: string
  readonly apiKey: string
  readonly workspaceId: string
  readonly retry: Retry
  readonly timeoutMs: number
  readonly fetch: typeof globalThis.fetch
}

/** The options of one request. */
export interface SendOptions extends RequestOptions {
  /** How often it is sent again, instead of what the client does. */
  retry?: Partial<Retry>
}

/** A response of which only the headers have been read. */
export interface OpenResponse {
  readonly response: Response
  /** Iterates over the parts of the body. The end of the iteration closes the connection. */
  readonly chunks: AsyncGenerator<Uint8Array, void>
  /** Closes the connection. */
  readonly close: () => void
}

/** The connections to one workspace of a server. */
export class Transport {
  readonly #options: TransportOptions

  constructor(options: TransportOptions) {
    this.#options = options
  }

  /** Returns the attempts of a request. */
  attempts(retry: Partial<Retry> = {}): Attempts {
    return new Attempts({ ...this.#options.retry, ...retry })
  }

  /** Returns the data of the response. */
  async data<T>(request: Request<T>, options?: SendOptions): Promise<T> {
    return parseData(await this.send(request, options)) as T
  }

  /** Returns a page of a list. */
  async page<T, M extends Meta = Meta>(request: Request<T>, options?: SendOptions): Promise<Page<T, M>> {
    return parsePage<T, M>(await this.send(request, options))
  }

  /** Iterates over the items of all pages. */
  async *pages<T>(request: Request<T>, options?: SendOptions): AsyncGenerator<T, void, undefined> {
    const first = request.query ?? []
    let offset = Number(first.find(([name]) => name === 'offset')?.[1] ?? 0)
    let query: Request<T>['query'] = first
    while (query) {
      const page: Page<T> = await this.page({ ...request, query }, options)
      yield* page
      offset += page.length
      query = nextQuery(first, page, offset)
    }
  }

  /**
   * Returns the response to a request, which is sent again after transient errors.
   *
   * @throws APIError if the server answered with an error
   * @throws TransportError if the server cannot be reached
   */
  send(request: Request<unknown>, options?: SendOptions): Promise<Answer> {
    return this.#repeat(request, read, options)
  }

  /** Returns the bodies of all pages of a list without an envelope. */
  async contents(request: Request<unknown>, options?: SendOptions): Promise<Uint8Array[]> {
    const bodies: Uint8Array[] = []
    for (let page: Request<unknown> | undefined = request; page;) {
      const { bytes, link }: Bytes = await this.#repeat(page, readBytes, options)
      bodies.push(bytes)
      page = following(request, link)
    }
    return bodies
  }

  async #repeat<T>(
    request: Request<unknown>,
    read: (opened: OpenResponse) => Promise<T>,
    { retry, signal }: SendOptions = {},
  ): Promise<T> {
    const ready = await compressed(request)
    const attempts = this.attempts(retry)
    for (;;) {
      try {
        return await read(await this.open(ready, signal, attempts.timeout(this.#options.timeoutMs)))
      } catch (error) {
        if (!(error instanceof LivegraphError)) throw error
        const wait = attempts.nextWait(error, request.repeatable ?? true)
        if (wait === undefined) throw error
        await sleep(wait, signal)
      }
    }
  }

  /** Makes one attempt and returns its response, which has a status of success, when its body begins. */
  async open(
    request: Request<unknown>,
    signal?: AbortSignal,
    timeoutMs = this.#options.timeoutMs,
  ): Promise<OpenResponse> {
    const message = `${request.method} ${request.path}`
    const watch = new Watch(timeoutMs, signal)
    try {
      const response = await watch.within(message, () => this.#fetch(request, watch.signal))
      if (response.type === 'opaqueredirect')
        throw new ResponseError(`${message}: the server answered with a redirect`)
      const opened = { response, chunks: chunks(message, response, watch), close: () => watch.close() }
      if (!response.ok) throw parseError(await read(opened))
      return opened
    } catch (error) {
      watch.close()
      throw error
    }
  }

  #fetch(request: Request<unknown>, signal: AbortSignal): Promise<Response> {
    const { base, apiKey, workspaceId, fetch } = this.#options
    const query = new URLSearchParams((request.query ?? []).map(([name, value]) => [name, value])).toString()
    return fetch(base + request.path + (query && `?${query}`), {
      method: request.method,
      headers: {
        ...userAgent(),
        ...request.headers,
        Authorization: `Bearer ${apiKey}`,
        'x-workspace-id': workspaceId,
      },
      body: (request.body ?? null) as BodyInit | null,
      redirect: 'manual', // the key is sent to no other server
      cache: 'no-store',
      credentials: 'omit',
      signal,
    })
  }
}

/** Reads the body of a response. */
async function read({ response, chunks: parts }: OpenResponse): Promise<Answer> {
  const decoder = new TextDecoder()
  const texts: string[] = []
  for await (const part of parts) texts.push(decoder.decode(part, { stream: true }))
  texts.push(decoder.decode())
  const { status, statusText, headers } = response
  return { status, statusText, headers, text: texts.join('') }
}

interface Bytes {
  readonly bytes: Uint8Array
  /** The header with the address of the next page. */
  readonly link: string
}

/** Reads the body of a response as bytes. */
async function readBytes({ response, chunks: parts }: OpenResponse): Promise<Bytes> {
  const read: Uint8Array[] = []
  for await (const part of parts) read.push(part)
  const bytes = new Uint8Array(read.reduce((length, part) => length + part.length, 0))
  let end = 0
  for (const part of read) {
    bytes.set(part, end)
    end += part.length
  }
  return { bytes, link: response.headers.get('Link') ?? '' }
}

/** Browsers send their own User-Agent, and another one would require the permission of the server. */
function userAgent(): Record<string, string> {
  const { process } = globalThis as { process?: { versions?: { node?: string } } }
  return process?.versions?.node ? { 'User-Agent': `livegraph-typescript/${version}` } : {}
}
