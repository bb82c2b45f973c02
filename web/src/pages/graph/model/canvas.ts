// What is on the canvas: nodes, the edges between them, and how far each node was expanded. Values are never
// changed in place, so that React and the painter detect changes by identity.

import {
  stepsOf,
  type Change,
  type Direction,
  type GraphEdge,
  type GraphNode,
  type Neighbor,
  type Step,
} from './types'

/** Nodes that the canvas takes. Beyond it neither the drawing nor the reader keeps up. */
export const MOST_SHOWN = 1000

/** What is asked for when a node is expanded. */
export interface Reach {
  direction: Direction
  /** None: any. */
  relationTypes: string[]
  depth: 1 | 2 | 3
}

export const WHOLE_REACH: Reach = { direction: 'both', relationTypes: [], depth: 1 }

/** How far a node was expanded. */
export interface Expansion {
  reach: Reach
  /** Neighbours that were fetched so far. */
  fetched: number
  /** All that the walk found. */
  found: number
  /** Edges that the walk could have begun with; null: nobody counted them. */
  edges: number | null
  /** There are more edges than the walk follows. */
  truncated: boolean
  /** Where it goes on; null: at the end. */
  cursor: string | null
}

export interface Shown {
  node: GraphNode
  expansion: Expansion | null
  /** Edges to nodes that are not on the canvas, seen arriving live. */
  unseen: number
}

export interface Canvas {
  readonly nodes: ReadonlyMap<string, Shown>
  readonly edges: ReadonlyMap<string, GraphEdge>
}

export const EMPTY: Canvas = { nodes: new Map(), edges: new Map() }

/** Adds nodes or replaces them by newer versions; an older version never replaces a newer one. */
export function withNodes(canvas: Canvas, nodes: readonly GraphNode[]): { canvas: Canvas; left: number } {
  const next = new Map(canvas.nodes)
  let changed = false
  let left = 0
  for (const node of nodes) {
    const there = next.get(node.id)
    if (!there && next.size >= MOST_SHOWN) {
      left++
      continue
    }
    if (there && there.node.version >= node.version) continue
    next.set(node.id, there ? { ...there, node } : { node, expansion: null, unseen: 0 })
    changed = true
  }
  return { canvas: changed ? { ...canvas, nodes: next } : canvas, left }
}

/** Adds the edges whose two ends are on the canvas. */
export function withEdges(canvas: Canvas, edges: readonly GraphEdge[]): Canvas {
  const next = new Map(canvas.edges)
  let changed = false
  for (const edge of edges) {
    if (!canvas.nodes.has(edge.sourceId) || !canvas.nodes.has(edge.targetId)) continue
    const there = next.get(edge.id)
    if (there && there.version >= edge.version) continue
    next.set(edge.id, edge)
    changed = true
  }
  return changed ? { ...canvas, edges: next } : canvas
}

/** Takes nodes off the canvas, and the edges that would hang in the air. */
export function withoutNodes(canvas: Canvas, ids: Iterable<string>): Canvas {
  const gone = new Set(ids)
  const nodes = new Map([...canvas.nodes].filter(([id]) => !gone.has(id)))
  if (nodes.size === canvas.nodes.size) return canvas
  const edges = new Map(
    [...canvas.edges].filter(([, edge]) => nodes.has(edge.sourceId) && nodes.has(edge.targetId)),
  )
  return { nodes, edges }
}

/** Keeps these nodes and what is between them. */
export function onlyNodes(canvas: Canvas, ids: Iterable<string>): Canvas {
  const kept = new Set(ids)
  return withoutNodes(
    canvas,
    [...canvas.nodes.keys()].filter((id) => !kept.has(id)),
  )
}

export function withoutEdges(canvas: Canvas, ids: Iterable<string>): Canvas {
  const gone = new Set(ids)
  const edges = new Map([...canvas.edges].filter(([id]) => !gone.has(id)))
  return edges.size === canvas.edges.size ? canvas : { ...canvas, edges }
}

/** One page of a node's neighbours. */
export interface NeighborPage {
  reach: Reach
  neighbors: readonly Neighbor[]
  found: number
  edges: number | null
  truncated: boolean
  cursor: string | null
}

/**
 * Merges a page of neighbours into the canvas. A second page of the same expansion adds to the first. When the
 * canvas is full, nearer nodes come before farther ones, and the expansion's cursor stays where it was, so that
 * it can go on after there is room again.
 */
export function withNeighbors(
  canvas: Canvas,
  of: string,
  page: NeighborPage,
): { canvas: Canvas; left: number } {
  const nearFirst = [...page.neighbors].sort((a, b) => a.depth - b.depth)
  const added = withNodes(
    canvas,
    nearFirst.map((neighbor) => neighbor.node),
  )
  const joined = withEdges(
    added.canvas,
    nearFirst.flatMap((neighbor) => neighbor.edges),
  )
  const root = joined.nodes.get(of)
  if (!root) return { canvas: joined, left: added.left }
  const before = root.expansion && sameReach(root.expansion.reach, page.reach) ? root.expansion : null
  const stuck = added.left > 0
  const expansion: Expansion = {
    reach: page.reach,
    fetched: (before?.cursor ? before.fetched : 0) + page.neighbors.length - added.left,
    found: page.found,
    edges: page.edges ?? before?.edges ?? null,
    truncated: page.truncated,
    cursor: stuck ? (before?.cursor ?? null) : page.cursor,
  }
  const nodes = new Map(joined.nodes)
  const whole = page.cursor === null && !page.truncated && !stuck && reachesAll(page.reach)
  nodes.set(of, { ...root, expansion, unseen: whole ? 0 : root.unseen })
  return { canvas: { ...joined, nodes }, left: added.left }
}

export function sameReach(a: Reach, b: Reach): boolean {
  return (
    a.direction === b.direction &&
    a.depth === b.depth &&
    a.relationTypes.length === b.relationTypes.length &&
    a.relationTypes.every((type) => b.relationTypes.includes(type))
  )
}

function reachesAll(reach: Reach): boolean {
  return reach.direction === 'both' && reach.relationTypes.length === 0
}

/** Whether an expansion asked for what such an edge leads to. */
function reaches(expansion: Expansion | null, edge: GraphEdge, from: string): boolean {
  if (!expansion || expansion.truncated || expansion.cursor !== null) return false
  const { direction, relationTypes } = expansion.reach
  if (relationTypes.length > 0 && !relationTypes.includes(edge.relationType)) return false
  return direction === 'both' || (direction === 'out' ? edge.sourceId === from : edge.targetId === from)
}

/** What became of the canvas by a change. */
export interface Applied {
  canvas: Canvas
  /** Resources that look different now or are new: worth a moment's highlight. */
  touched: string[]
  /** Nodes that came back with edges whose ids alone are known: ask for the edges among what is shown. */
  reconnect: string[]
}

/**
 * Applies a change of the workspace from the event stream to the canvas.
 * A node that is new comes onto the canvas by itself only where it belongs to what is looked at: by an edge to a
 * node that was expanded that way, and wholly. Otherwise the node that it hangs on counts it as unseen. `keep`
 * says of nodes that are not on the canvas whether they are to be shown all the same: what the reader just made.
 */
export function applyChange(
  canvas: Canvas,
  change: Change,
  keep: (id: string) => boolean = () => false,
): Applied {
  const steps = stepsOf(change)
  const born = new Map<string, GraphNode>()
  for (const { node } of steps)
    if (node && !node.deleted && !canvas.nodes.has(node.id)) born.set(node.id, node)
  const applied: Applied = { canvas, touched: [], reconnect: [] }
  for (const node of born.values()) if (keep(node.id)) show(applied, node)
  for (const step of steps) {
    if (step.node) applyToNode(applied, step, step.node)
    if (step.edge) applyToEdge(applied, step.edge, born)
  }
  return applied
}

function show(applied: Applied, node: GraphNode): void {
  const added = withNodes(applied.canvas, [node])
  if (added.canvas === applied.canvas) return
  applied.canvas = added.canvas
  applied.touched.push(node.id)
}

function applyToNode(applied: Applied, step: Step, node: GraphNode): void {
  if (node.deleted) {
    applied.canvas = withoutNodes(applied.canvas, [node.id])
    return
  }
  if (!applied.canvas.nodes.has(node.id)) return
  show(applied, node)
  if (step.cascade?.restored && step.cascade.count > 0) applied.reconnect.push(node.id)
}

function applyToEdge(applied: Applied, edge: GraphEdge, born: ReadonlyMap<string, GraphNode>): void {
  if (edge.deleted) {
    applied.canvas = withoutEdges(applied.canvas, [edge.id])
    return
  }
  const known = applied.canvas.edges.get(edge.id)
  for (const [here, there] of [
    [edge.sourceId, edge.targetId],
    [edge.targetId, edge.sourceId],
  ] as const) {
    const at = applied.canvas.nodes.get(here)
    if (!at || applied.canvas.nodes.has(there)) continue
    const arriving = born.get(there)
    if (arriving && reaches(at.expansion, edge, here)) show(applied, arriving)
    if (!applied.canvas.nodes.has(there) && edge.version === 1) countUnseen(applied, at)
  }
  if (known && known.version >= edge.version) return
  const joined = withEdges(applied.canvas, [edge])
  if (joined === applied.canvas) return
  applied.canvas = joined
  applied.touched.push(edge.id)
}

function countUnseen(applied: Applied, at: Shown): void {
  const nodes = new Map(applied.canvas.nodes)
  nodes.set(at.node.id, { ...at, unseen: at.unseen + 1 })
  applied.canvas = { ...applied.canvas, nodes }
}

/** An edge as one end sees it. */
export interface Incidence {
  edge: GraphEdge
  /** The node at the other end; the same one for a loop. */
  other: string
  out: boolean
}

const incidences = new WeakMap<ReadonlyMap<string, GraphEdge>, Map<string, Incidence[]>>()

/** The edges on the canvas by node; of a loop once. Made once for a set of edges. */
export function incidenceOf(canvas: Canvas): ReadonlyMap<string, readonly Incidence[]> {
  const known = incidences.get(canvas.edges)
  if (known) return known
  const by = new Map<string, Incidence[]>()
  const put = (at: string, incidence: Incidence) => {
    const list = by.get(at)
    if (list) list.push(incidence)
    else by.set(at, [incidence])
  }
  for (const edge of canvas.edges.values()) {
    put(edge.sourceId, { edge, other: edge.targetId, out: true })
    if (edge.targetId !== edge.sourceId) put(edge.targetId, { edge, other: edge.sourceId, out: false })
  }
  incidences.set(canvas.edges, by)
  return by
}
