// Names for the search indexes as the operator's routes show them.

import type { AdminSchemas } from '@/api'

export type WorkspaceIndex = AdminSchemas['WorkspaceIndex']
export type IndexStatus = Omit<WorkspaceIndex, 'workspace'>
export type Model = NonNullable<WorkspaceIndex['model']>
/** An index of all workspaces: the one that is searched, or one that is being built beside it. */
export type SearchIndex = AdminSchemas['SearchIndex']
/** The index that was asked for last. */
export type Reindex = NonNullable<AdminSchemas['AskedReindex']>
export type Installed = AdminSchemas['Indexes']
