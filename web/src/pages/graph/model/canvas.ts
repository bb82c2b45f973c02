// The canvas: nodes, the edges between them, and the expansion of each node. Values are immutable, so that React and
// the painter detect changes by identity.

import {
  stepsOf,
  type Change,
  type Direction,
  type GraphEdge,
  type GraphNode,
  type Neighbor,
  type Step,
} from './types'

/** The maximum number of nodes on the canvas. More cannot be drawn smoothly or read. */
export const MAX_NODES = 1000

/** The options of an expansion. */
export interface ExpandOptions {
  direction: Direction
  /** Empty for any. */
  relationTypes: string[]
  depth: 1 | 2 | 3
}

export const DEFAULT_OPTIONS: ExpandOptions = { direction: 'both', relationTypes: [], depth: 1 }

/** The state of an expansion. */
export interface Expansion {
  options: ExpandOptions
  /** The number of loaded neighbours. */
  fetched: number
  /** The total number that the walk found. */
  found: number
  /** The number of edges with which the walk could start; null if they were not counted. */
  edges: number | null
  /** There are more edges than the walk follows. */
  truncated: boolean
  /** The cursor of the next page; null at the end. */
  cursor: string | null
}

export interface CanvasNode {
  node: GraphNode
  expansion: Expansion | null
  /** The number of new edges from the stream that lead to nodes outside the canvas. */
  unseen: number
}

export interface Canvas {
  readonly nodes: ReadonlyMap<string, CanvasNode>
  readonly edges: ReadonlyMap<string, GraphEdge>
}

export const EMPTY: Canvas = { nodes: new Map(), edges: new Map() }

/** Adds nodes or replaces them by newer versions; an older version never replaces a newer one. */
export function withNodes(canvas: Canvas, nodes: readonly GraphNode[]): { canvas: Canvas; skipped: number } {
  const next = new Map(canvas.nodes)
  let changed = false
  let skipped = 0
  for (const node of nodes) {
    const existing = next.get(node.id)
    if (!existing && next.size >= MAX_NODES) {
      skipped++
      continue
    }
    if (existing && existing.node.version >= node.version) continue
    next.set(node.id, existing ? { ...existing, node } : { node, expansion: null, unseen: 0 })
    changed = true
  }
  return { canvas: changed ? { ...canvas, nodes: next } : canvas, skipped }
}

/** Adds the edges whose two ends are on the canvas. */
export function withEdges(canvas: Canvas, edges: readonly GraphEdge[]): Canvas {
  const next = new Map(canvas.edges)
  let changed = false
  for (const edge of edges) {
    if (!canvas.nodes.has(edge.sourceId) || !canvas.nodes.has(edge.targetId)) continue
    const existing = next.get(edge.id)
    if (existing && existing.version >= edge.version) continue
    next.set(edge.id, edge)
    changed = true
  }
  return changed ? { ...canvas, edges: next } : canvas
}

/** Removes nodes and their edges from the canvas. */
export function withoutNodes(canvas: Canvas, ids: Iterable<string>): Canvas {
  const removed = new Set(ids)
  const nodes = new Map([...canvas.nodes].filter(([id]) => !removed.has(id)))
  if (nodes.size === canvas.nodes.size) return canvas
  const edges = new Map(
    [...canvas.edges].filter(([, edge]) => nodes.has(edge.sourceId) && nodes.has(edge.targetId)),
  )
  return { nodes, edges }
}

/** Keeps only these nodes and the edges between them. */
export function onlyNodes(canvas: Canvas, ids: Iterable<string>): Canvas {
  const kept = new Set(ids)
  return withoutNodes(
    canvas,
    [...canvas.nodes.keys()].filter((id) => !kept.has(id)),
  )
}

export function withoutEdges(canvas: Canvas, ids: Iterable<string>): Canvas {
  const removed = new Set(ids)
  const edges = new Map([...canvas.edges].filter(([id]) => !removed.has(id)))
  return edges.size === canvas.edges.size ? canvas : { ...canvas, edges }
}

/** A page of neighbours. */
export interface NeighborPage {
  options: ExpandOptions
  neighbors: readonly Neighbor[]
  found: number
  edges: number | null
  truncated: boolean
  cursor: string | null
}

/**
 * Merges a page of neighbours into the canvas. A second page of the same expansion is added to the first. When the
 * canvas is full, nearer nodes are added first, and the cursor of the expansion stays, so that it can continue later.
 */
export function withNeighbors(
  canvas: Canvas,
  rootId: string,
  page: NeighborPage,
): { canvas: Canvas; skipped: number } {
  const nearFirst = [...page.neighbors].sort((a, b) => a.depth - b.depth)
  const added = withNodes(
    canvas,
    nearFirst.map((neighbor) => neighbor.node),
  )
  const joined = withEdges(
    added.canvas,
    nearFirst.flatMap((neighbor) => neighbor.edges),
  )
  const root = joined.nodes.get(rootId)
  if (!root) return { canvas: joined, skipped: added.skipped }
  const previous = root.expansion && sameOptions(root.expansion.options, page.options) ? root.expansion : null
  const full = added.skipped > 0
  const expansion: Expansion = {
    options: page.options,
    fetched: (previous?.cursor ? previous.fetched : 0) + page.neighbors.length - added.skipped,
    found: page.found,
    edges: page.edges ?? previous?.edges ?? null,
    truncated: page.truncated,
    cursor: full ? (previous?.cursor ?? null) : page.cursor,
  }
  const nodes = new Map(joined.nodes)
  const complete = page.cursor === null && !page.truncated && !full && isUnfiltered(page.options)
  nodes.set(rootId, { ...root, expansion, unseen: complete ? 0 : root.unseen })
  return { canvas: { ...joined, nodes }, skipped: added.skipped }
}

export function sameOptions(a: ExpandOptions, b: ExpandOptions): boolean {
  return (
    a.direction === b.direction &&
    a.depth === b.depth &&
    a.relationTypes.length === b.relationTypes.length &&
    a.relationTypes.every((type) => b.relationTypes.includes(type))
  )
}

function isUnfiltered(options: ExpandOptions): boolean {
  return options.direction === 'both' && options.relationTypes.length === 0
}

/** Reports whether an expansion includes nodes that such an edge leads to. */
function covers(expansion: Expansion | null, edge: GraphEdge, from: string): boolean {
  if (!expansion || expansion.truncated || expansion.cursor !== null) return false
  const { direction, relationTypes } = expansion.options
  if (relationTypes.length > 0 && !relationTypes.includes(edge.relationType)) return false
  return direction === 'both' || (direction === 'out' ? edge.sourceId === from : edge.targetId === from)
}

/** The result of a change. */
export interface Applied {
  canvas: Canvas
  /** Resources that changed or are new, to be highlighted for a moment. */
  touched: string[]
  /** Restored nodes whose edges are known only by id: their edges within the canvas must be loaded. */
  reconnect: string[]
}

/**
 * Applies a change of the event stream to the canvas. A new node is added only if it belongs to a complete expansion
 * of a node on the canvas. Otherwise the connected node counts it as unseen. `keep` reports whether a node outside the
 * canvas is added anyway, because this operator just created it.
 */
export function applyChange(
  canvas: Canvas,
  change: Change,
  keep: (id: string) => boolean = () => false,
): Applied {
  const steps = stepsOf(change)
  const newNodes = new Map<string, GraphNode>()
  for (const { node } of steps)
    if (node && !node.deleted && !canvas.nodes.has(node.id)) newNodes.set(node.id, node)
  const applied: Applied = { canvas, touched: [], reconnect: [] }
  for (const node of newNodes.values()) if (keep(node.id)) show(applied, node)
  for (const step of steps) {
    if (step.node) applyToNode(applied, step, step.node)
    if (step.edge) applyToEdge(applied, step.edge, newNodes)
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

function applyToEdge(applied: Applied, edge: GraphEdge, newNodes: ReadonlyMap<string, GraphNode>): void {
  if (edge.deleted) {
    applied.canvas = withoutEdges(applied.canvas, [edge.id])
    return
  }
  const existing = applied.canvas.edges.get(edge.id)
  for (const [endId, otherId] of [
    [edge.sourceId, edge.targetId],
    [edge.targetId, edge.sourceId],
  ] as const) {
    const end = applied.canvas.nodes.get(endId)
    if (!end || applied.canvas.nodes.has(otherId)) continue
    const newNode = newNodes.get(otherId)
    if (newNode && covers(end.expansion, edge, endId)) show(applied, newNode)
    if (!applied.canvas.nodes.has(otherId) && edge.version === 1) countUnseen(applied, end)
  }
  if (existing && existing.version >= edge.version) return
  const joined = withEdges(applied.canvas, [edge])
  if (joined === applied.canvas) return
  applied.canvas = joined
  applied.touched.push(edge.id)
}

function countUnseen(applied: Applied, end: CanvasNode): void {
  const nodes = new Map(applied.canvas.nodes)
  nodes.set(end.node.id, { ...end, unseen: end.unseen + 1 })
  applied.canvas = { ...applied.canvas, nodes }
}

/** An edge seen from one end. */
export interface Incidence {
  edge: GraphEdge
  /** The node at the other end; the same node for a loop. */
  otherId: string
  out: boolean
}

const incidences = new WeakMap<ReadonlyMap<string, GraphEdge>, Map<string, Incidence[]>>()

/** Returns the edges on the canvas by node; a loop is listed once. The result is cached for each set of edges. */
export function incidenceOf(canvas: Canvas): ReadonlyMap<string, readonly Incidence[]> {
  const cached = incidences.get(canvas.edges)
  if (cached) return cached
  const byNode = new Map<string, Incidence[]>()
  const add = (nodeId: string, incidence: Incidence) => {
    const list = byNode.get(nodeId)
    if (list) list.push(incidence)
    else byNode.set(nodeId, [incidence])
  }
  for (const edge of canvas.edges.values()) {
    add(edge.sourceId, { edge, otherId: edge.targetId, out: true })
    if (edge.targetId !== edge.sourceId) add(edge.targetId, { edge, otherId: edge.sourceId, out: false })
  }
  incidences.set(canvas.edges, byNode)
  return byNode
}
