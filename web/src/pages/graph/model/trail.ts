// Computes the differences of each change of a node or an edge from the consecutive states of its history.

import { differences, type Difference } from './patch'
import { stepsOf, type Change } from './types'

/** Whether a change is about a node or an edge of it. */
export function concerns(change: Change, nodeId: string): boolean {
  return stepsOf(change).some(
    ({ node, edge }) => node?.id === nodeId || edge?.sourceId === nodeId || edge?.targetId === nodeId,
  )
}

/** Ids of the nodes that a change is about, those at the ends of its edges included. */
export function nodesOf(change: Change): Set<string> {
  const ids = new Set<string>()
  for (const { node, edge } of stepsOf(change)) {
    if (node) ids.add(node.id)
    if (edge) ids.add(edge.sourceId).add(edge.targetId)
  }
  return ids
}

/**
 * The differences that each change made, by its sequence, for changes of a single resource whose state before is in the
 * list as well. Newest first, as histories are.
 */
export function alterations(changes: readonly Change[]): Map<number, Difference[]> {
  const found = new Map<number, Difference[]>()
  const newer = new Map<string, { sequence: number; change: Change }>()
  for (const change of [...changes].sort((a, b) => b.sequence - a.sequence)) {
    for (const { node, edge } of stepsOf(change)) {
      const state = node ?? edge
      if (!state) continue
      const later = newer.get(state.id)
      const after =
        later && stepsOf(later.change).length === 1 ? (later.change.node ?? later.change.edge) : undefined
      // One version apart: nothing happened in between that the list does not have.
      if (later && after && !after.deleted && !state.deleted && after.version === state.version + 1) {
        const made = differences(state, after)
        if (made.length > 0) found.set(later.sequence, made)
      }
      newer.set(state.id, { sequence: change.sequence, change })
    }
  }
  return found
}
