export {
  api,
  ApiError,
  url,
  type ErrorDetails,
  type List,
  type Meta,
  type Options,
  type Query,
} from './client'
export { subscribe, useEvents, type ServerEvent, type StreamState } from './events'
export type { AdminSchemas, ApiSchemas } from './schemas'
export { MAX_TAG_LENGTH, MAX_TAGS } from './limits'
export * from './types'
