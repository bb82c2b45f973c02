// Computes the differences of each change of a node or an edge from the consecutive states of its history.

import { differences, type Difference } from './patch'
import { stepsOf, type Change } from './types'

/** Reports whether a change affects a node or an edge of it. */
export function affectsNode(change: Change, nodeId: string): boolean {
  return stepsOf(change).some(
    ({ node, edge }) => node?.id === nodeId || edge?.sourceId === nodeId || edge?.targetId === nodeId,
  )
}

/** Returns the ids of the affected nodes, those at the ends of affected edges included. */
export function affectedNodeIds(change: Change): Set<string> {
  const ids = new Set<string>()
  for (const { node, edge } of stepsOf(change)) {
    if (node) ids.add(node.id)
    if (edge) ids.add(edge.sourceId).add(edge.targetId)
  }
  return ids
}

/**
 * Returns the differences of each change by sequence, for changes of a single resource whose previous state is in the
 * list. The list is newest first, like histories.
 */
export function changeDiffs(changes: readonly Change[]): Map<number, Difference[]> {
  const found = new Map<number, Difference[]>()
  const newer = new Map<string, { sequence: number; change: Change }>()
  for (const change of [...changes].sort((a, b) => b.sequence - a.sequence)) {
    for (const { node, edge } of stepsOf(change)) {
      const state = node ?? edge
      if (!state) continue
      const later = newer.get(state.id)
      const after =
        later && stepsOf(later.change).length === 1 ? (later.change.node ?? later.change.edge) : undefined
      // The versions are consecutive, so no change in between is missing.
      if (later && after && !after.deleted && !state.deleted && after.version === state.version + 1) {
        const made = differences(state, after)
        if (made.length > 0) found.set(later.sequence, made)
      }
      newer.set(state.id, { sequence: change.sequence, change })
    }
  }
  return found
}
