// Names for the live data types of the public API.

import type { ApiSchemas } from '@/api'

export type Source = ApiSchemas['Source']
export type SourceMetric = ApiSchemas['SourceMetric']
export type SourceStatus = NonNullable<Source['status']>
export type Tags = ApiSchemas['Tags']
export type NewSource = ApiSchemas['NewSource']
/** A merge patch: absent fields stay, null removes. */
export type SourcePatch = ApiSchemas['SourcePatch']

export type Kind = ApiSchemas['Kind']
export type Cell = ApiSchemas['Cell']
/** A series, or several aggregated ones, with points as rows. */
export type PointRows = ApiSchemas['PointRows']
export type Series = ApiSchemas['Series']
export type Meta = ApiSchemas['Meta']
export type QueryMeta = ApiSchemas['QueryAnswer']['meta']
