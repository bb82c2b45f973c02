// The graph as the interface shows it; schemas/openapi.yaml is the source.

export const ENTITY_TYPES = ['concept', 'object', 'process', 'actor'] as const
export type EntityType = (typeof ENTITY_TYPES)[number]

export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue }
export type Properties = Record<string, JsonValue>

export interface GraphNode {
  id: string
  name: string
  entityType: EntityType
  description: string | null
  properties: Properties
  createdAt: string
  updatedAt: string
  version: number
  /** In a change: this is its last state. */
  deleted?: true
}

export interface GraphEdge {
  id: string
  sourceId: string
  targetId: string
  relationType: string
  properties: Properties
  createdAt: string
  updatedAt: string
  version: number
  deleted?: true
}

export type Direction = 'out' | 'in' | 'both'

export interface Neighbor {
  node: GraphNode
  depth: number
  edges: GraphEdge[]
}

export type CommandType =
  | 'CREATE_NODE'
  | 'UPDATE_NODE'
  | 'DELETE_NODE'
  | 'CREATE_EDGE'
  | 'UPDATE_EDGE'
  | 'DELETE_EDGE'
  | 'UNDO'
  | 'REDO'

export interface Cascade {
  restored: boolean
  count: number
  edges: string[]
}

/** What a change did to one resource. */
export interface Step {
  type: CommandType
  node?: GraphNode
  edge?: GraphEdge
  cascade?: Cascade
}

export interface Change {
  sequence: number
  commandId: string
  actorId: string
  type: CommandType | 'BATCH'
  at: string
  requestId: string
  target?: { commandId: string; type: CommandType | 'BATCH' }
  node?: GraphNode
  edge?: GraphEdge
  cascade?: Cascade
  steps?: Step[]
}

export interface Command {
  type: CommandType
  payload?: Record<string, unknown>
  expectedVersion?: number
}

export interface CommandResult {
  commandId: string
  type: CommandType
  status: 'applied'
  node?: GraphNode
  edge?: GraphEdge
  affected: { nodes: string[]; edges: string[]; counts: { nodes: number; edges: number } }
  target?: { commandId: string; type: CommandType | 'BATCH' }
  undoDepth: number
  redoDepth: number
  sequence: number | null
}

/** A conflict of an undo or a redo. */
export interface Obstacle {
  kind: 'node' | 'edge'
  id: string
  field?: string
  byCommandId: string
}

/** One node or edge. */
export interface Ref {
  kind: 'node' | 'edge'
  id: string
}

/** The steps of a change, also of one that touched a single resource. */
export function stepsOf(change: Change): Step[] {
  if (change.steps) return change.steps
  const step: Step = { type: change.type === 'BATCH' ? 'UPDATE_NODE' : change.type }
  if (change.node) step.node = change.node
  if (change.edge) step.edge = change.edge
  if (change.cascade) step.cascade = change.cascade
  return step.node || step.edge ? [step] : []
}
