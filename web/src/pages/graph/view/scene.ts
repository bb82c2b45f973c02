// The graph of the canvas, prepared for drawing and hit tests: arrays by index instead of maps by id, built again when the graph
// changes and not at every frame.

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
  /** It was expanded, wholly or in part. */
  expanded: boolean
  /** There is more around it than is shown. */
  more: boolean
}

export interface SceneEdge {
  id: string
  /** Places of its ends among the nodes. */
  source: number
  target: number
  relationType: string
  /** How far the middle is bent away from the straight line, to the left of source → target. Of a loop its size. */
  bend: number
}

export interface Scene {
  nodes: readonly SceneNode[]
  edges: readonly SceneEdge[]
  /** Of a node. */
  place: ReadonlyMap<string, number>
  /** Of an edge. */
  edgePlace: ReadonlyMap<string, number>
  /** By the place of a node, those of its edges. */
  edgesOf: readonly (readonly number[])[]
}

const LEAST_RADIUS = 6
const MOST_RADIUS = 20
/** How far parallel edges are apart, in units of the plane. */
const GAP = 14
/** Characters of a name that a drawing can need. */
const MOST_NAME = 120

/** Nodes with more edges are larger, by area. */
export function radiusOf(degree: number): number {
  return Math.min(MOST_RADIUS, LEAST_RADIUS + 1.5 * Math.sqrt(degree))
}

export function sceneOf(canvas: Canvas): Scene {
  const incidence = incidenceOf(canvas)
  const place = new Map<string, number>()
  const nodes: SceneNode[] = []
  for (const { node, expansion, unseen } of canvas.nodes.values()) {
    const degree = incidence.get(node.id)?.length ?? 0
    place.set(node.id, nodes.length)
    nodes.push({
      id: node.id,
      name: visible(node.name, MOST_NAME),
      entityType: node.entityType,
      radius: radiusOf(degree),
      degree,
      expanded: expansion !== null,
      more: unseen > 0 || (expansion !== null && (expansion.truncated || expansion.cursor !== null)),
    })
  }
  const edges = sceneEdges(canvas, place)
  const edgesOf: number[][] = nodes.map(() => [])
  edges.forEach((edge, i) => {
    edgesOf[edge.source]?.push(i)
    if (edge.target !== edge.source) edgesOf[edge.target]?.push(i)
  })
  return { nodes, edges, place, edgesOf, edgePlace: new Map(edges.map((edge, i) => [edge.id, i])) }
}

function sceneEdges(canvas: Canvas, place: ReadonlyMap<string, number>): SceneEdge[] {
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
      const source = place.get(edge.sourceId)
      const target = place.get(edge.targetId)
      if (source === undefined || target === undefined) return
      const relationType = visible(edge.relationType, MOST_NAME)
      edges.push({ id: edge.id, relationType, source, target, bend: bendOf(edge, i, bundle.length) })
    })
  }
  return edges
}

/** Parallel edges fan out evenly on both sides of the straight line; loops are concentric. */
function bendOf(edge: GraphEdge, i: number, many: number): number {
  if (edge.sourceId === edge.targetId) return 16 + 9 * i
  const aside = (i - (many - 1) / 2) * GAP
  return aside === 0 ? 0 : edge.sourceId < edge.targetId ? aside : -aside
}
