// Nodes, edges and changes for tests.

import type { Change, GraphEdge, GraphNode } from './types'

const AT = '2026-11-21T07:40:08.290296Z'

export function node(id: string, more: Partial<GraphNode> = {}): GraphNode {
  const common = {
    entityType: 'object',
    description: null,
    properties: {},
    createdAt: AT,
    updatedAt: AT,
  } as const
  return { id, name: `node ${id}`, version: 1, ...common, ...more }
}

export function edge(id: string, sourceId: string, targetId: string, relationType = 'feeds'): GraphEdge {
  return { id, sourceId, targetId, relationType, properties: {}, createdAt: AT, updatedAt: AT, version: 1 }
}

export function change(more: Partial<Change>): Change {
  return {
    sequence: 1,
    commandId: 'c1',
    actorId: 'me',
    type: 'UPDATE_NODE',
    at: AT,
    requestId: 'req_1',
    ...more,
  }
}
