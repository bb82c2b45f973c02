/**
 * Client of Livegraph: live data, a graph and search behind one REST API.
 *
 * Answers are the objects of the API, with its names. Their types are those of the contract.
 *
 * @packageDocumentation
 */

export type { Analyses } from './analyses.js'
export type { Limits, WriterPoint } from './buffer.js'
export type { ChangeEvent, ChangeFilter, Changes, GraphReset } from './changes.js'
export { Client, type ClientOptions, type ConnectionOptions } from './client.js'
export * as commands from './commands.js'
export type {
  AnswerOptions,
  AnswerPart,
  Documents,
  HybridOptions,
  Search,
  SearchOptions,
} from './documents.js'
export {
  APIError,
  AuthenticationError,
  AuthorizationError,
  ConflictError,
  LivegraphError,
  NotFoundError,
  RateLimitedError,
  RejectedError,
  ResponseError,
  ServerError,
  TransportError,
  UnavailableError,
  ValidationError,
  WriteError,
  WriterClosedError,
} from './errors.js'
export type * from './filters.js'
export type { Commands, Edges, Nodes } from './graph.js'
export type {
  DeletedPoints,
  LineOptions,
  Points,
  PointsEvent,
  PointsRange,
  StreamGap,
  WriteOptions,
} from './points.js'
export type { Prometheus, PromOptions, PromRange, PromTime } from './prometheus.js'
export { batchError, Page } from './response.js'
export type { Retry } from './retry.js'
export type { AlertFilter, Alerts, Rules } from './rules.js'
export type { SavedQueries } from './saved.js'
export {
  type ReceivedHeaders,
  SignatureError,
  type VerifyOptions,
  verifyWebhook,
  type WebhookEvent,
} from './signature.js'
export type { IdempotentOptions, Sources } from './sources.js'
export type { StreamEvent } from './sse.js'
export type { EventStream, StreamOptions } from './stream.js'
export type * from './types.js'
export { version } from './version.js'
export type { DeliveryFilter, Webhooks } from './webhooks.js'
export type { Writer, WriterOptions } from './writer.js'
