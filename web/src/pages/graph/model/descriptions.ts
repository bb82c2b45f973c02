// Descriptions of the graph for lists, screen readers and the history.

import { num, plural, visible } from '@/ui/format'

import type { Expansion, Incidence, CanvasNode } from './canvas'
import { stepsOf, type Change, type CommandType, type EntityType, type GraphEdge, type Step } from './types'

/** The maximum length of a name within a sentence. */
const NAME = 80

export const ENTITY_LABELS: Record<EntityType, string> = {
  concept: 'Concept',
  object: 'Object',
  process: 'Process',
  actor: 'Actor',
}

/** Describes how much of a node's neighbourhood is on the canvas; null if it was not expanded. */
export function expansionText(expansion: Expansion | null): string | null {
  if (!expansion) return null
  const { fetched, found, edges, truncated, cursor } = expansion
  if (truncated && edges !== null) {
    return `Showing ${plural(fetched, 'neighbour')}; the node has ${plural(edges, 'edge')} of this kind`
  }
  if (truncated) return `Showing ${num(fetched)} of more than ${plural(found, 'neighbour')}`
  if (cursor !== null || fetched < found) return `Showing ${num(fetched)} of ${plural(found, 'neighbour')}`
  return found === 0 ? 'No neighbours of this kind' : `All ${plural(found, 'neighbour')} shown`
}

/** Describes a node for screen readers. */
export function nodeText(shown: CanvasNode, incidence: readonly Incidence[]): string {
  const parts = [
    visible(shown.node.name, NAME),
    ENTITY_LABELS[shown.node.entityType],
    plural(incidence.length, 'edge') + ' shown',
  ]
  if (shown.unseen > 0) parts.push(`${plural(shown.unseen, 'edge')} to nodes that are not shown`)
  return parts.join(', ')
}

/** Describes an edge from one end: "feeds → Boiler", "← feeds Pump". */
export function relationText(incidence: Incidence, nameOf: (id: string) => string): string {
  const name = nameOf(incidence.otherId)
  const type = visible(incidence.edge.relationType, NAME)
  return incidence.out ? `${type} → ${name}` : `← ${type} ${name}`
}

export function edgeText(edge: GraphEdge, nameOf: (id: string) => string): string {
  return `${nameOf(edge.sourceId)} → ${visible(edge.relationType, NAME)} → ${nameOf(edge.targetId)}`
}

const DONE: Record<CommandType | 'BATCH', string> = {
  CREATE_NODE: 'Created',
  UPDATE_NODE: 'Changed',
  DELETE_NODE: 'Deleted',
  CREATE_EDGE: 'Connected',
  UPDATE_EDGE: 'Changed',
  DELETE_EDGE: 'Disconnected',
  UPSERT_NODE: 'Changed',
  UPSERT_EDGE: 'Changed',
  UNDO: 'Undid',
  REDO: 'Redid',
  BATCH: 'Changed',
}

const KINDS: Record<CommandType | 'BATCH', string> = {
  CREATE_NODE: 'the creation of a node',
  UPDATE_NODE: 'a change of a node',
  DELETE_NODE: 'the deletion of a node',
  CREATE_EDGE: 'the creation of an edge',
  UPDATE_EDGE: 'a change of an edge',
  DELETE_EDGE: 'the deletion of an edge',
  UPSERT_NODE: 'a change of a node',
  UPSERT_EDGE: 'a change of an edge',
  UNDO: 'an undo',
  REDO: 'a redo',
  BATCH: 'a batch',
}

/** Describes a change in one line. */
export function changeText(change: Change, nameOf: (id: string) => string): string {
  if (change.type === 'UNDO' || change.type === 'REDO') {
    const of = change.target ? KINDS[change.target.type] : 'a command'
    return `${DONE[change.type]} ${of}${objectText(change, nameOf)}`
  }
  if (change.type === 'BATCH' || change.steps) return `Batch: ${batchText(stepsOf(change))}`
  const [step] = stepsOf(change)
  if (!step) return DONE[change.type]
  return `${DONE[change.type]} ${stepText(step, nameOf)}`
}

function objectText(change: Change, nameOf: (id: string) => string): string {
  const steps = stepsOf(change)
  const [only] = steps
  if (steps.length > 1) return `: ${batchText(steps)}`
  return only ? `: ${stepText(only, nameOf)}` : ''
}

/** Describes the resource of a step and the edges of its cascade. */
export function stepText(step: Step, nameOf: (id: string) => string): string {
  if (step.edge) return edgeText(step.edge, nameOf)
  const name = step.node ? `“${visible(step.node.name, NAME)}”` : 'a node'
  if (!step.cascade || step.cascade.count === 0) return name
  return `${name} and ${plural(step.cascade.count, 'edge')}`
}

/** Describes each step of a change. */
export function stepsText(change: Change, nameOf: (id: string) => string): string[] {
  return stepsOf(change).map((step) => `${verbOf(step)} ${stepText(step, nameOf)}`)
}

function verbOf(step: Step): string {
  return step.edge?.deleted || step.node?.deleted ? 'deleted' : VERBS[step.type]
}

/** Describes a batch: the actions and the number of resources. */
export function batchText(steps: readonly Step[]): string {
  const counts = new Map<string, number>()
  for (const step of steps) {
    const key = `${step.edge ? 'edge' : 'node'} ${verbOf(step)}`
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return [...counts]
    .map(([key, n]) => {
      const [kind = '', done = ''] = key.split(' ')
      return `${plural(n, kind)} ${done}`
    })
    .join(', ')
}

const VERBS: Record<CommandType, string> = {
  CREATE_NODE: 'created',
  UPDATE_NODE: 'changed',
  DELETE_NODE: 'deleted',
  CREATE_EDGE: 'created',
  UPDATE_EDGE: 'changed',
  DELETE_EDGE: 'deleted',
  UPSERT_NODE: 'changed',
  UPSERT_EDGE: 'changed',
  UNDO: 'restored',
  REDO: 'restored',
}
