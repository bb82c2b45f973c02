// Requests to /admin/api: the response envelope, its errors, and the CSRF token of the session.

import { isIdle } from './activity'
import { sendIdempotent } from './idempotency'

/** The base of all paths of the client. */
const BASE = '/admin/api'

/** The position of a page within a list. */
export interface Meta {
  total: number
  limit: number
  offset: number
  hasMore: boolean
  nextCursor?: string | null
  /** There are more items than the server counted or followed. */
  truncated?: boolean
}

export interface List<T> {
  data: T[]
  meta: Meta
}

export interface ErrorDetails {
  /** The subject of the error: a path such as `points[3].timestamp`, a parameter or a header. */
  field?: string
  reason?: string
  allowed?: string[]
  [other: string]: unknown
}

/** The error of a failed request. `status` is 0 if the server cannot be reached. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: ErrorDetails
  readonly requestId: string | null
  /** Seconds to wait before the next attempt; null if the server did not set it. */
  readonly retryAfter: number | null
  /** The request was a write and may have been applied, because its response was not received. */
  readonly outcomeUnknown: boolean

  constructor(status: number, answer: Partial<Omit<ApiError, 'status' | 'name'>>) {
    super(answer.message ?? defaultMessage(status))
    this.name = 'ApiError'
    this.status = status
    this.code = answer.code ?? (status === 0 ? 'UNREACHABLE' : 'INTERNAL_ERROR')
    this.details = answer.details ?? {}
    this.requestId = answer.requestId ?? null
    this.retryAfter = answer.retryAfter ?? null
    this.outcomeUnknown = answer.outcomeUnknown ?? false
  }
}

/** Reports whether a request with this response status may have been applied. */
const hasUnknownOutcome = (status: number) => status === 0 || status === 408 || status >= 500

function defaultMessage(status: number): string {
  return status === 0 ? 'The server cannot be reached' : `The server returned ${status}`
}

export type QueryValue = string | number | boolean | null | undefined | readonly (string | number)[]
export type Query = Record<string, QueryValue>

export interface Options {
  /** Id of the workspace, for routes of one workspace. */
  workspace?: string | undefined
  /** Null, undefined and empty strings are omitted; a list repeats its name. */
  query?: Query | undefined
  /** Sent as JSON. */
  body?: unknown
  /** Sent unchanged instead of `body`, with its content type. */
  raw?: { type: string; text: string }
  signal?: AbortSignal | undefined
  headers?: Record<string, string>
  /** The request changes nothing, whatever its method: a search, a plan. */
  readOnly?: boolean
}

const CSRF_HEADER = 'X-CSRF-Token'

let csrfToken: string | null = null
let onSignedOut: () => void = () => undefined
let onStaleSession: (writes: boolean) => Promise<void> = () => Promise.resolve()

/** Sets the CSRF token of writes, which is part of the session; null if there is no session. */
export function setCsrfToken(token: string | null): void {
  csrfToken = token
}

/** Sets the handler for responses that report that the session has ended. */
export function setSignedOutHandler(handler: () => void): void {
  onSignedOut = handler
}

/**
 * Sets the handler for requests that were refused because of their token or cookie: a login in another tab may have
 * replaced the session. The request is repeated when the handler resolves, and fails when it rejects.
 */
export function setStaleSessionHandler(handler: (writes: boolean) => Promise<void>): void {
  onStaleSession = handler
}

/** Returns the URL of a path with its query. */
export function url(path: string, query: Query = {}): string {
  const params = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '') continue
    if (Array.isArray(value)) for (const item of value) params.append(name, String(item))
    else params.append(name, String(value))
  }
  const text = params.toString()
  return BASE + path + (text ? `?${text}` : '')
}

/** Returns the headers of a request. */
export function headersOf(method: string, options: Options): Headers {
  const headers = new Headers(options.headers)
  if (!headers.has('Accept')) headers.set('Accept', 'application/json')
  if (options.workspace) headers.set('X-Workspace-Id', options.workspace)
  if (options.raw) headers.set('Content-Type', options.raw.type)
  else if (options.body !== undefined) headers.set('Content-Type', 'application/json')
  if (method === 'GET' && isIdle()) headers.set('X-Livegraph-Background', '1')
  if (method !== 'GET' && csrfToken) headers.set(CSRF_HEADER, csrfToken)
  return headers
}

function bodyOf({ raw, body }: Options): string | null {
  if (raw) return raw.text
  return body === undefined ? null : JSON.stringify(body)
}

/** Sends a request. A response that is not a success throws an ApiError. */
export async function send(method: string, path: string, options: Options = {}): Promise<Response> {
  try {
    return await attempt(method, path, options)
  } catch (error) {
    if (!(error instanceof ApiError) || !isStaleSession(error, path)) throw error
    await onStaleSession(method !== 'GET' && !options.readOnly)
  }
  try {
    return await attempt(method, path, options)
  } catch (error) {
    if (error instanceof ApiError && error.status === 401) onSignedOut()
    throw error
  }
}

/** Reports whether a request was refused because its session is not the current session of the browser or has ended. */
function isStaleSession(error: ApiError, path: string): boolean {
  if (error.status === 401) return path !== '/session' // /session answers 401 when there is no session
  return error.status === 403 && error.details.field === CSRF_HEADER
}

async function attempt(method: string, path: string, options: Options): Promise<Response> {
  const writes = method !== 'GET' && !options.readOnly
  let response: Response
  try {
    // eslint-disable-next-line no-restricted-globals -- this is the one place
    response = await fetch(url(path, options.query), {
      method,
      headers: headersOf(method, options),
      body: bodyOf(options),
      credentials: 'same-origin',
      cache: 'no-store',
      signal: options.signal ?? null,
    })
  } catch (cause) {
    if (cause instanceof DOMException && cause.name === 'AbortError') throw cause
    throw new ApiError(0, { outcomeUnknown: writes })
  }
  if (response.ok) return response
  throw await errorOf(response, writes)
}

/** Returns the error of a response. The response may come from a proxy and have no envelope. */
export async function errorOf(response: Response, writes = false): Promise<ApiError> {
  const retryAfter = Number.parseInt(response.headers.get('Retry-After') ?? '', 10)
  const common: ConstructorParameters<typeof ApiError>[1] = {
    requestId: response.headers.get('X-Request-Id'),
    retryAfter: Number.isFinite(retryAfter) ? retryAfter : null,
    outcomeUnknown: writes && hasUnknownOutcome(response.status),
  }
  let body: unknown
  try {
    body = await response.json()
  } catch {
    return new ApiError(response.status, common)
  }
  const answer = body as {
    error?: { code?: string; message?: string; details?: ErrorDetails }
    requestId?: string
  } | null
  return new ApiError(response.status, {
    ...common,
    ...answer?.error,
    requestId: answer?.requestId ?? common.requestId,
  })
}

async function request<T>(method: string, path: string, options?: Options): Promise<T> {
  const response = await send(method, path, options)
  if (response.status === 204) return undefined as T
  const answer = (await json(response)) as { data: T }
  return answer.data
}

const requestIdempotent = <T>(method: 'POST' | 'PATCH' | 'DELETE', path: string, options: Options) =>
  sendIdempotent([method, path, options.workspace, options.body], (key) =>
    request<T>(method, path, { ...options, headers: { ...options.headers, 'Idempotency-Key': key } }),
  )

/** A resource with the entity tag of its state, which a change sends as If-Match. */
export interface Tagged<T> {
  data: T
  etag: string
}

async function requestTagged<T>(path: string, options?: Options): Promise<Tagged<T>> {
  const response = await send('GET', path, options)
  const etag = response.headers.get('ETag')
  // Without the tag, a change could overwrite that of somebody else.
  if (!etag) throw new ApiError(response.status, { message: 'The response has no entity tag' })
  const answer = (await json(response)) as { data: T }
  return { data: answer.data, etag }
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

/** The client. Paths are below /admin/api: `/live-data/sources` is `/api/live-data/sources` of the public API. */
export const api = {
  get: <T>(path: string, options?: Options) => request<T>('GET', path, options),
  /** Returns a resource with its entity tag. */
  getTagged: <T>(path: string, options?: Options) => requestTagged<T>(path, options),
  post: <T>(path: string, options?: Options) => request<T>('POST', path, options),
  /**
   * Sends a POST with an Idempotency-Key, so that repetitions have no further effect. Only for routes that accept the
   * header.
   */
  postIdempotent: <T>(path: string, options: Options) => requestIdempotent<T>('POST', path, options),
  /** The same for a PATCH. */
  patchIdempotent: <T>(path: string, options: Options) => requestIdempotent<T>('PATCH', path, options),
  put: <T>(path: string, options?: Options) => request<T>('PUT', path, options),
  patch: <T>(path: string, options?: Options) => request<T>('PATCH', path, options),
  del: <T = void>(path: string, options?: Options) => request<T>('DELETE', path, options),
  /** The same as `postIdempotent` for a DELETE. */
  delIdempotent: <T>(path: string, options: Options) => requestIdempotent<T>('DELETE', path, options),
  /** Returns a list with its meta. */
  list: async <T>(path: string, options?: Options): Promise<List<T>> => {
    const response = await send('GET', path, options)
    return (await json(response)) as List<T>
  },
  /** Returns a list that is requested by POST, such as a search. */
  search: async <T>(path: string, options?: Options): Promise<List<T>> => {
    const response = await send('POST', path, { ...options, readOnly: true })
    return (await json(response)) as List<T>
  },
}
