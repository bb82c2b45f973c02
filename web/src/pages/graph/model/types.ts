// Names for the graph types of the public API.

import type { ApiSchemas } from '@/api'

export type EntityType = ApiSchemas['EntityType']

// A record, so that a missing type does not compile.
const entityTypes: Record<EntityType, true> = { concept: true, object: true, process: true, actor: true }
export const ENTITY_TYPES = Object.keys(entityTypes) as EntityType[]

export type Properties = ApiSchemas['Properties']
export type GraphNode = ApiSchemas['Node']
export type GraphEdge = ApiSchemas['Edge']
export type Direction = NonNullable<ApiSchemas['HybridQuery']['direction']>
export type Neighbor = ApiSchemas['Neighbor']

export type CommandType = ApiSchemas['CommandType']
export type Command = Omit<ApiSchemas['Command'], 'payload'> & { payload?: Record<string, unknown> }
export type CommandResult = ApiSchemas['CommandResult']
export type Cascade = ApiSchemas['Cascade']
/** The effect of a change on one resource. */
export type Step = ApiSchemas['Step']
export type Change = ApiSchemas['Change']
/** A conflict of an undo or a redo. */
export type Conflict = ApiSchemas['GraphConflict']

/** A node or an edge. */
export interface Ref {
  kind: 'node' | 'edge'
  id: string
}

/** Returns the steps of a change, also of one that affected a single resource. */
export function stepsOf(change: Change): Step[] {
  if (change.steps) return change.steps
  const step: Step = { type: change.type === 'BATCH' ? 'UPDATE_NODE' : change.type }
  if (change.node) step.node = change.node
  if (change.edge) step.edge = change.edge
  if (change.cascade) step.cascade = change.cascade
  return step.node || step.edge ? [step] : []
}
