/**
 * The shapes of live data as schemas/openapi.yaml has them, as far as these pages
 * read them.
 */

export type SourceStatus = 'active' | 'stale' | 'never'

export interface SourceMetric {
  name: string
  unit?: string | null
  description?: string | null
}

export type Tags = Record<string, string>

export interface Source {
  id: string
  name: string
  description: string
  nodeId: string | null
  unit: string | null
  metrics: SourceMetric[]
  tags: Tags
  retentionDays: number | null
  intervalSeconds: number | null
  createdAt: string
  updatedAt: string
  version: number
  lastSeenAt: string | null
  /** Null while the store of points cannot say. */
  status: SourceStatus | null
}

export interface NewSource {
  name: string
  description?: string
  nodeId?: string
  unit?: string
  metrics?: SourceMetric[]
  tags?: Tags
  retentionDays?: number
  intervalSeconds?: number
}

/** A merge patch: what is absent stays, null removes. */
export interface SourcePatch {
  expectedVersion?: number
  name?: string
  description?: string | null
  nodeId?: string | null
  unit?: string | null
  metrics?: SourceMetric[]
  tags?: Record<string, string | null>
  retentionDays?: number | null
  intervalSeconds?: number | null
}

export type Kind = 'number' | 'string'

export type Cell = number | string | null

/** A series, or several that are aggregated, with points: a row a point. */
export interface PointRows {
  sourceId: string | null
  sourceName: string | null
  metric: string | null
  kind: Kind
  unit: string | null
  tags: Tags
  columns: string[]
  points: Cell[][]
}

export interface Series {
  id: string
  sourceId: string
  sourceName: string
  metric: string
  kind: Kind
  unit: string | null
  tags: Tags
  firstSeen: string | null
  lastSeen: string | null
  count: number
}

export interface Meta {
  total: number
  limit: number
  offset: number
  hasMore: boolean
  nextCursor: string | null
}

export interface QueryMeta extends Meta {
  /** The length of the buckets, where there are any. */
  interval?: string
}
