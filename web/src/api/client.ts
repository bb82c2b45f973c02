// Requests to /admin/api: the envelope of the interface, its errors, and the session's token for writes.

import { unattended } from './activity'
import { once } from './once'

/** Where every path of the client is. */
const BASE = '/admin/api'

/** How a list says which part of it an answer is. */
export interface Meta {
  total: number
  limit: number
  offset: number
  hasMore: boolean
  nextCursor?: string | null
  /** There are more than were counted or followed. */
  truncated?: boolean
}

export interface List<T> {
  data: T[]
  meta: Meta
}

export interface ErrorDetails {
  /** What it is about: a path such as `points[3].timestamp`, a parameter, a header. */
  field?: string
  reason?: string
  allowed?: string[]
  [other: string]: unknown
}

/** What a request ended with that is not a success. `status` 0: the server could not be reached. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: ErrorDetails
  readonly requestId: string | null
  /** Seconds to wait before the next try; null: the server did not say. */
  readonly retryAfter: number | null
  /** It was to change something, and may have done so all the same: its answer did not come. */
  readonly maybeDone: boolean

  constructor(status: number, answer: Partial<Omit<ApiError, 'status' | 'name'>>) {
    super(answer.message ?? defaultMessage(status))
    this.name = 'ApiError'
    this.status = status
    this.code = answer.code ?? (status === 0 ? 'UNREACHABLE' : 'INTERNAL_ERROR')
    this.details = answer.details ?? {}
    this.requestId = answer.requestId ?? null
    this.retryAfter = answer.retryAfter ?? null
    this.maybeDone = answer.maybeDone ?? false
  }
}

/** Reports whether a request with such an answer may have had its effect. */
const undecided = (status: number) => status === 0 || status === 408 || status >= 500

function defaultMessage(status: number): string {
  return status === 0 ? 'The server cannot be reached' : `The server returned ${status}`
}

export type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[]
export type Query = Record<string, QueryValue>

export interface Options {
  /** Id of the workspace, for routes that are inside one. */
  workspace?: string | undefined
  /** Null, undefined and empty strings are left out; a list repeats its name. */
  query?: Query | undefined
  /** Sent as JSON. */
  body?: unknown
  signal?: AbortSignal | undefined
  headers?: Record<string, string>
  /** It changes nothing, whatever its method: a search, a plan. */
  reads?: boolean
}

const TOKEN = 'X-CSRF-Token'

let csrfToken: string | null = null
let onSignedOut: () => void = () => undefined
let onStaleSession: (writes: boolean) => Promise<void> = () => Promise.resolve()

/** What writes are sent with. The session's answer has it; null: nobody is logged in. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token
}

/** Called when an answer says that there is no session any more. */
export function setSignedOutHandler(handler: () => void): void {
  onSignedOut = handler
}

/**
 * Called when a request was refused for its token or its cookie: a login in another tab may have opened another session
 * in the place of theirs. The request is sent once more when this resolves, and not when it rejects.
 */
export function setStaleSessionHandler(handler: (writes: boolean) => Promise<void>): void {
  onStaleSession = handler
}

/** The address of a path, with its query. */
export function url(path: string, query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue
    if (Array.isArray(value)) for (const one of value) params.append(name, String(one))
    else params.append(name, String(value))
  }
  const text = params.toString()
  return BASE + path + (text ? `?${text}` : '')
}

/** The headers of a request. */
export function headersOf(method: string, options: Options): Headers {
  const headers = new Headers(options.headers)
  if (!headers.has('Accept')) headers.set('Accept', 'application/json')
  if (options.workspace) headers.set('X-Workspace-Id', options.workspace)
  if (options.body !== undefined) headers.set('Content-Type', 'application/json')
  if (method === 'GET' && unattended()) headers.set('X-Livegraph-Background', '1')
  if (method !== 'GET' && csrfToken) headers.set(TOKEN, csrfToken)
  return headers
}

/** Sends a request. What is not a success becomes an ApiError. */
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  try {
    return await attempt(method, path, options)
  } catch (error) {
    if (!(error instanceof ApiError) || !ofAnotherSession(error, path)) throw error
    await onStaleSession(method !== 'GET' && !options.reads)
  }
  try {
    return await attempt(method, path, options)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) onSignedOut()
    throw error
  }
}

/** Whether a request was refused because its session is not the browser's, or is none any more. */
function ofAnotherSession(error: ApiError, path: string): boolean {
  if (error.status === 401) return path !== '/session' // there, it is the answer
  return error.status === 403 && error.details.field === TOKEN
}

async function attempt(method: string, path: string, options: Options): Promise<Response> {
  const writes = method !== 'GET' && !options.reads
  let response: Response
  try {
    // eslint-disable-next-line no-restricted-globals -- this is the one place
    response = await fetch(url(path, options.query), {
      method,
      headers: headersOf(method, options),
      body: options.body === undefined ? null : JSON.stringify(options.body),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: options.signal ?? null,
    })
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(0, { maybeDone: writes })
  }
  if (response.ok) return response
  throw await errorOf(response, writes)
}

/** What an answer that is not a success says. It may be a proxy's, and no envelope. */
export async function errorOf(response: Response, writes = false): Promise<ApiError> {
  const retryAfter = Number.parseInt(response.headers.get('Retry-After') ?? '', 10)
  const known = {
    requestId: response.headers.get('X-Request-Id'),
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
    maybeDone: writes && undecided(response.status),
  }
  let body: unknown
  try {
    body = await response.json()
  } catch {
    return new ApiError(response.status, known)
  }
  const answer = body as {
    error?: { code?: string; message?: string; details?: ErrorDetails }
    requestId?: string
  } | null
  return new ApiError(response.status, {
    ...known,
    ...answer?.error,
    requestId: answer?.requestId ?? known.requestId,
  })
}

async function request<T>(method: string, path: string, options?: Options): Promise<T> {
  const response = await send(method, path, options)
  if (response.status === 204) return undefined as T
  const answer = (await json(response)) as { data: T }
  return answer.data
}

async function json(response: Response): Promise<unknown> {
  try {
    return await response.json()
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(response.status, {
      message: 'The response is incomplete or not JSON',
      requestId: response.headers.get('X-Request-Id'),
    })
  }
}

/** The client. Paths are below /admin/api: `/live-data/sources` is `/api/live-data/sources` of the interface. */
export const api = {
  get: <T>(path: string, options?: Options) => request<T>('GET', path, options),
  post: <T>(path: string, options?: Options) => request<T>('POST', path, options),
  /** A POST that is done once, however often it is sent before its outcome is known; of routes that know the header. */
  postOnce: <T>(path: string, options: Options) =>
    once([path, options.workspace, options.body], (key) =>
      request<T>('POST', path, { ...options, headers: { ...options.headers, 'Idempotency-Key': key } }),
    ),
  put: <T>(path: string, options?: Options) => request<T>('PUT', path, options),
  patch: <T>(path: string, options?: Options) => request<T>('PATCH', path, options),
  del: <T = void>(path: string, options?: Options) => request<T>('DELETE', path, options),
  /** A list with its meta. */
  list: async <T>(path: string, options?: Options): Promise<List<T>> => {
    const response = await send('GET', path, options)
    return (await json(response)) as List<T>
  },
  /** A list by POST, such as a search. */
  search: async <T>(path: string, options?: Options): Promise<List<T>> => {
    const response = await send('POST', path, { ...options, reads: true })
    return (await json(response)) as List<T>
  },
}
