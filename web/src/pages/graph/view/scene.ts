// The graph of the canvas, prepared for drawing and hit tests: arrays by index instead of maps by id. It is built when
// the graph changes, not for every frame.

import { visible } from '@/ui/format'

import { incidenceOf, type Canvas } from '../model/canvas'
import type { EntityType, GraphEdge } from '../model/types'

export interface SceneNode {
  id: string
  name: string
  entityType: EntityType
  /** In units of the plane. */
  radius: number
  degree: number
  /** The node was expanded completely or partly. */
  expanded: boolean
  /** There are neighbours that are not shown. */
  more: boolean
}

export interface SceneEdge {
  id: string
  /** Indices of its ends among the nodes. */
  source: number
  target: number
  relationType: string
  /** The distance of the middle from the straight line, to the left of source → target. For a loop its size. */
  bend: number
}

export interface Scene {
  nodes: readonly SceneNode[]
  edges: readonly SceneEdge[]
  /** Node indices by id. */
  nodeIndex: ReadonlyMap<string, number>
  /** Edge indices by id. */
  edgeIndex: ReadonlyMap<string, number>
  /** Edge indices by node index. */
  edgesOf: readonly (readonly number[])[]
}

const MIN_RADIUS = 6
const MAX_RADIUS = 20
/** The distance between parallel edges in units of the plane. */
const GAP = 14
/** The maximum length of a name that can be drawn. */
const MAX_NAME = 120

/** Nodes with more edges are larger, by area. */
export function radiusOf(degree: number): number {
  return Math.min(MAX_RADIUS, MIN_RADIUS + 1.5 * Math.sqrt(degree))
}

export function sceneOf(canvas: Canvas): Scene {
  const incidence = incidenceOf(canvas)
  const nodeIndex = new Map<string, number>()
  const nodes: SceneNode[] = []
  for (const { node, expansion, unseen } of canvas.nodes.values()) {
    const degree = incidence.get(node.id)?.length ?? 0
    nodeIndex.set(node.id, nodes.length)
    nodes.push({
      id: node.id,
      name: visible(node.name, MAX_NAME),
      entityType: node.entityType,
      radius: radiusOf(degree),
      degree,
      expanded: expansion !== null,
      more: unseen > 0 || (expansion !== null && (expansion.truncated || expansion.cursor !== null)),
    })
  }
  const edges = sceneEdges(canvas, nodeIndex)
  const edgesOf: number[][] = nodes.map(() => [])
  edges.forEach((edge, i) => {
    edgesOf[edge.source]?.push(i)
    if (edge.target !== edge.source) edgesOf[edge.target]?.push(i)
  })
  return { nodes, edges, nodeIndex, edgesOf, edgeIndex: new Map(edges.map((edge, i) => [edge.id, i])) }
}

function sceneEdges(canvas: Canvas, nodeIndex: ReadonlyMap<string, number>): SceneEdge[] {
  const bundles = new Map<string, GraphEdge[]>()
  for (const edge of canvas.edges.values()) {
    const key =
      edge.sourceId < edge.targetId
        ? `${edge.sourceId} ${edge.targetId}`
        : `${edge.targetId} ${edge.sourceId}`
    const bundle = bundles.get(key)
    if (bundle) bundle.push(edge)
    else bundles.set(key, [edge])
  }
  const edges: SceneEdge[] = []
  for (const bundle of bundles.values()) {
    bundle.forEach((edge, i) => {
      const source = nodeIndex.get(edge.sourceId)
      const target = nodeIndex.get(edge.targetId)
      if (source === undefined || target === undefined) return
      const relationType = visible(edge.relationType, MAX_NAME)
      edges.push({ id: edge.id, relationType, source, target, bend: bendOf(edge, i, bundle.length) })
    })
  }
  return edges
}

/** Distributes parallel edges evenly on both sides of the straight line; loops are concentric. */
function bendOf(edge: GraphEdge, i: number, count: number): number {
  if (edge.sourceId === edge.targetId) return 16 + 9 * i
  const aside = (i - (count - 1) / 2) * GAP
  return aside === 0 ? 0 : edge.sourceId < edge.targetId ? aside : -aside
}
