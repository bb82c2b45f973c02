// Names for the search index types of the operator API.

import type { AdminSchemas } from '@/api'

export type WorkspaceIndex = AdminSchemas['WorkspaceIndex']
export type IndexStatus = Omit<WorkspaceIndex, 'workspace'>
export type Model = NonNullable<WorkspaceIndex['model']>
/** An index of all workspaces: the live one or one that is being built. */
export type SearchIndex = AdminSchemas['SearchIndex']
/** The last requested re-index. */
export type Reindex = NonNullable<AdminSchemas['AskedReindex']>
export type Installed = AdminSchemas['Indexes']
