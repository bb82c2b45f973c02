// How the graph is put into words: for lists, for screen readers, for the history.

import { num, plural, visible } from '@/ui/format'

import type { Expansion, Incidence, Shown } from './canvas'
import { stepsOf, type Change, type CommandType, type EntityType, type GraphEdge, type Step } from './types'

/** Characters of a name within a sentence. */
const NAME = 80

export const ENTITY_LABELS: Record<EntityType, string> = {
  concept: 'Concept',
  object: 'Object',
  process: 'Process',
  actor: 'Actor',
}

/** How much of what is around a node is on the canvas; null: it was not expanded. */
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

/** What is said of a node that the keyboard comes to. */
export function nodeText(shown: Shown, incidence: readonly Incidence[]): string {
  const parts = [
    visible(shown.node.name, NAME),
    ENTITY_LABELS[shown.node.entityType],
    plural(incidence.length, 'edge') + ' shown',
  ]
  if (shown.unseen > 0) parts.push(`${plural(shown.unseen, 'edge')} to nodes that are not shown`)
  return parts.join(', ')
}

/** An edge read from one end: "feeds → Boiler", "← feeds Pump". */
export function relationText(incidence: Incidence, nameOf: (id: string) => string): string {
  const name = nameOf(incidence.other)
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
  UNDO: 'an undo',
  REDO: 'a redo',
  BATCH: 'a batch',
}

/** What a change did, in one line. */
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

/** The resource of a step, and what went or came along. */
export function stepText(step: Step, nameOf: (id: string) => string): string {
  if (step.edge) return edgeText(step.edge, nameOf)
  const name = step.node ? `“${visible(step.node.name, NAME)}”` : 'a node'
  if (!step.cascade || step.cascade.count === 0) return name
  return `${name} and ${plural(step.cascade.count, 'edge')}`
}

/** What each step of a change did. */
export function stepsText(change: Change, nameOf: (id: string) => string): string[] {
  return stepsOf(change).map((step) => `${verbOf(step)} ${stepText(step, nameOf)}`)
}

function verbOf(step: Step): string {
  return step.edge?.deleted || step.node?.deleted ? 'deleted' : VERBS[step.type]
}

/** What was done to how many of what. */
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
  UNDO: 'restored',
  REDO: 'restored',
}
