// The edges of a node by direction and relation, for the list beside it and to choose what to expand.

import type { Direction, GraphEdge } from './types'

export interface EdgeGroup {
  out: boolean
  relationType: string
  count: number
}

/** Groups some edges of a node, the largest group first. A loop goes both ways and counts as outgoing. */
export function groupsOf(nodeId: string, edges: readonly GraphEdge[]): EdgeGroup[] {
  const groups = new Map<string, EdgeGroup>()
  for (const { sourceId, relationType } of edges) {
    const out = sourceId === nodeId
    const key = `${out ? '>' : '<'}${relationType}`
    const group = groups.get(key)
    if (group) group.count++
    else groups.set(key, { out, relationType, count: 1 })
  }
  return [...groups.values()].sort(
    (a, b) =>
      b.count - a.count || Number(b.out) - Number(a.out) || (a.relationType < b.relationType ? -1 : 1),
  )
}

/** The relations among groups that a direction follows. */
export function relationsOf(groups: readonly EdgeGroup[], direction: Direction): string[] {
  const suiting = groups.filter(({ out }) => direction === 'both' || out === (direction === 'out'))
  return [...new Set(suiting.map(({ relationType }) => relationType))]
}
