// Groups the edges of a node by direction and relation, for its list of connections and the choice of what to expand.

import type { Direction, GraphEdge } from './types'

export interface EdgeGroup {
  out: boolean
  relationType: string
  count: number
}

/** Groups edges of a node, the largest group first. A loop counts as outgoing. */
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

/** Returns the relations of the groups in a direction. */
export function relationsOf(groups: readonly EdgeGroup[], direction: Direction): string[] {
  const suiting = groups.filter(({ out }) => direction === 'both' || out === (direction === 'out'))
  return [...new Set(suiting.map(({ relationType }) => relationType))]
}
