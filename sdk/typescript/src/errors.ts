/** The errors of the package. All of them are a {@link LivegraphError}. No error contains the API key. */

import type { ErrorDetails, NewPoint, Rejection } from './types.js'

/** The base class of all errors of the package. */
export class LivegraphError extends Error {
  override readonly name: string = 'LivegraphError'
}

/** The server could not be reached, or the connection broke before the response ended. */
export class TransportError extends LivegraphError {
  override readonly name: string = 'TransportError'
  /** False if the request was certainly not sent. Browsers do not report that, so it is true there. */
  readonly sent: boolean

  constructor(message: string, options: ErrorOptions & { sent?: boolean } = {}) {
    super(message, options)
    this.sent = options.sent ?? true
  }
}

/** The server's response is not in the format of the API, for example because a proxy answered. */
export class ResponseError extends LivegraphError {
  override readonly name: string = 'ResponseError'
}

/** What the server sent with an error. */
export interface APIErrorFields {
  status?: number
  code?: string
  requestId?: string
  details?: ErrorDetails
  retryAfterMs?: number | undefined
}

/** The server answered with an error. */
export class APIError extends LivegraphError {
  override readonly name: string = 'APIError'
  /** The public message of the server. `message` is longer: it has the status, the code, the field and the request. */
  readonly text: string
  /** The HTTP status. In the results of a batch it is 0, because the API sends none. */
  readonly status: number
  /** The code of the error, such as `VALIDATION_ERROR`; '' if the response has none. */
  readonly code: string
  /** The id of the request, to find it in the server's log; '' if the response has none. */
  readonly requestId: string
  /** The field, the limit or the conflict that caused the error. */
  readonly details: ErrorDetails
  /** The milliseconds after which the server accepts another attempt; undefined if it did not send them. */
  readonly retryAfterMs: number | undefined

  constructor(text: string, fields: APIErrorFields = {}) {
    super(describe(text, fields))
    this.text = text
    this.status = fields.status ?? 0
    this.code = fields.code ?? ''
    this.requestId = fields.requestId ?? ''
    this.details = fields.details ?? {}
    this.retryAfterMs = fields.retryAfterMs
  }

  /** The field of the request that is invalid, such as `points[3].value`; undefined if the server named none. */
  get field(): string | undefined {
    return this.details.field
  }

  /** Why the field is invalid. */
  get reason(): string | undefined {
    return this.details.reason
  }
}

function describe(text: string, { status, code, details, requestId }: APIErrorFields): string {
  const kind = [status || '', code].filter(Boolean).join(' ') || 'error'
  const field = details?.field === undefined ? '' : ` (${details.field}: ${details.reason ?? 'is invalid'})`
  return `${kind}: ${text}${field}${requestId ? `, request ${requestId}` : ''}`
}

/** The request is malformed or has invalid values (400, 405, 413, 415, 422). */
export class ValidationError extends APIError {
  override readonly name: string = 'ValidationError'
}

/** The key is missing, invalid, revoked or expired (401). */
export class AuthenticationError extends APIError {
  override readonly name: string = 'AuthenticationError'
}

/** The key has no access to the workspace or lacks a scope (403). */
export class AuthorizationError extends APIError {
  override readonly name: string = 'AuthorizationError'
}

/** The resource does not exist in the workspace (404). */
export class NotFoundError extends APIError {
  override readonly name: string = 'NotFoundError'
}

/** The name or id exists, the version is another one, or an undo is blocked (409). */
export class ConflictError extends APIError {
  override readonly name: string = 'ConflictError'
}

/** The workspace has used all requests of the minute or the day (429). */
export class RateLimitedError extends APIError {
  override readonly name: string = 'RateLimitedError'
}

/** The server failed (5xx). */
export class ServerError extends APIError {
  override readonly name: string = 'ServerError'
}

/** A store is unavailable, or the request timed out (502, 503, 504). */
export class UnavailableError extends ServerError {
  override readonly name: string = 'UnavailableError'
}

/** The server accepted a request with points but rejected some of them. */
export class RejectedError extends LivegraphError {
  override readonly name: string = 'RejectedError'
  /** The number of rejected points. */
  readonly rejected: number
  /** The reasons, with the index of the first point of each in the request. */
  readonly rejections: readonly Rejection[]

  constructor(rejected: number, rejections: readonly Rejection[]) {
    const [first] = rejections
    super(`${rejected} points were rejected${first ? `: ${first.field}: ${first.reason}` : ''}`)
    this.rejected = rejected
    this.rejections = rejections
  }
}

/** A writer could not write some points. `cause` is the reason. */
export class WriteError extends LivegraphError {
  override readonly name: string = 'WriteError'
  /**
   * The points of the requests that failed, which `client.points.write` accepts with the precision `us`. Of a request
   * whose points were rejected in part, all points are listed; the rejections name them.
   */
  readonly points: readonly NewPoint[]

  constructor(message: string, points: readonly NewPoint[], options?: ErrorOptions) {
    super(message, options)
    this.points = points
  }
}

/** The writer is closed and accepts no points. */
export class WriterClosedError extends LivegraphError {
  override readonly name: string = 'WriterClosedError'
}

type APIErrorClass = new (text: string, fields?: APIErrorFields) => APIError

const byStatus: Record<number, APIErrorClass> = {
  400: ValidationError,
  401: AuthenticationError,
  403: AuthorizationError,
  404: NotFoundError,
  405: ValidationError,
  409: ConflictError,
  413: ValidationError,
  415: ValidationError,
  422: ValidationError,
  429: RateLimitedError,
  502: UnavailableError,
  503: UnavailableError,
  504: UnavailableError,
}

const byCode: Record<string, APIErrorClass> = {
  VALIDATION_ERROR: ValidationError,
  AUTHORIZATION_ERROR: AuthorizationError,
  NOT_FOUND: NotFoundError,
  CONFLICT: ConflictError,
  INTERNAL_ERROR: ServerError,
}

/** Returns the class of an error. In the results of a batch, the status is 0 and the code decides. */
export function errorClass(status: number, code: string): APIErrorClass {
  if (status === 0) return byCode[code] ?? APIError
  return byStatus[status] ?? (status >= 500 ? ServerError : APIError)
}
