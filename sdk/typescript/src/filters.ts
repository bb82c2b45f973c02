/**
 * The filters and selectors of lists and queries. They are the parameters of the contract; those with several values
 * accept one value or an array, and match any of the values. All filters combine with AND.
 */

import type { operations } from './schema.js'
import type { Time } from './types.js'

/** Options of every request. */
export interface RequestOptions {
  /** Ends the request and its repetitions. The method then throws the signal's reason. */
  signal?: AbortSignal
}

/** Values by key. Several values of one key match any of them. */
export type KeyFilter = Readonly<Record<string, string | readonly string[]>>

type Query<Operation extends keyof operations> = NonNullable<operations[Operation]['parameters']['query']>
type Times = 'asOf' | 'createdAfter' | 'createdBefore' | 'updatedAfter' | 'updatedBefore' | 'from' | 'to'
type OneOrMore<Value> = Value extends readonly (infer Item)[] ? Item | readonly Item[] : Value
type Parameters<Operation extends keyof operations, Omitted extends string> = {
  [
    Name in keyof Query<Operation> as Name extends `${string}.<key>` | Omitted ? never : Name
  ]?: Name extends Times ? Time : OneOrMore<NonNullable<Query<Operation>[Name]>>
}

type Paging = 'limit' | 'offset' | 'cursor'

/** Selects a page of a list that is paged by offset. */
export interface OffsetPage {
  /** The number of items of the page, up to 100 (the default). Search: 10. */
  limit?: number
  /** The number of items before the page. */
  offset?: number
}

/** Selects a page of a list. */
export interface CursorPage extends OffsetPage {
  /** `nextCursor` of the page before. */
  cursor?: string
}

/** Bounds by key. The text of a number bounds numbers, another text strings. */
export type KeyBounds = Readonly<Record<string, string | number>>

interface PropertyFilter {
  /** Values of top-level properties, such as `{ room: 'cellar' }`. */
  property?: KeyFilter
  /** Inclusive lower bounds of top-level properties, such as `{ power: 5.5 }`. */
  propertyMin?: KeyBounds
  /** Inclusive upper bounds of top-level properties. */
  propertyMax?: KeyBounds
  /** Beginnings of top-level properties that are strings. */
  propertyPrefix?: KeyFilter
}

/** Selects nodes. */
export type NodeFilter = Parameters<'listNodes', Paging> & PropertyFilter

/** Selects edges. */
export type EdgeFilter = Parameters<'listEdges', Paging> & PropertyFilter

/** Selects a state of the graph. The default is the current one. Only one of the fields may be given. */
export type Moment = Parameters<'getNode', never>

/** Selects the neighbors of a node. */
export type NeighborFilter = Parameters<'listNeighbors', Paging>

/** Selects paths between two nodes. */
export type PathFilter = Parameters<'listPaths', 'from' | 'to'>

/** Selects a subgraph around nodes. */
export type SubgraphFilter = Parameters<'getSubgraph', 'nodeId'>

/** Selects sources. */
export type SourceFilter = Parameters<'listSources', Paging> & {
  /** Values of tags, such as `{ room: 'cellar' }`. */
  tag?: KeyFilter
}

/** Selects saved queries. */
export type SavedQueryFilter = Parameters<'listSavedQueries', Paging>

/** Selects series. */
export type SeriesSelector = Parameters<'listSeries', Paging> & {
  /** Values of tags, such as `{ room: 'cellar' }`. */
  tag?: KeyFilter
}

type NotRaw = 'aggregation' | 'interval' | 'timezone' | 'fill' | 'groupBy' | 'latest' | 'format'

/** Selects raw points and how they are returned. */
export type RawQuery = Parameters<'query', Paging | NotRaw> & Pick<SeriesSelector, 'tag'>

/** Selects points and how they are aggregated. */
export type AggregateQuery = Parameters<
  'query',
  Paging | 'aggregation' | 'downsample' | 'latest' | 'format'
> &
  Pick<SeriesSelector, 'tag'>

/** Selects the newest points. */
export type LatestQuery = SeriesSelector &
  Parameters<'query', Exclude<keyof Query<'query'>, 'from' | 'epoch'>>

/** A function of the points of a bucket. */
export type Aggregation = NonNullable<Query<'query'>['aggregation']>[number]
