// Draws a scene. Elements of the same style are combined into one path, because the cost depends on the number of
// strokes and fills, not of lines: 1,000 edges are three strokes.

import { toScreen, type Point } from './camera'
import { paintCaptions } from './captions'
import { nodeTier, outside, screenRadius, type Frame, type FrameInput, type Tier } from './frame'
import { arrowOf, controlPoint, loopCircle } from './geometry'
import { positionOf } from './hit'
import type { SceneEdge, SceneNode } from './scene'
import { addShape } from './shapes'

/** The zoom from which arrows are visible. */
const ARROWS_FROM = 0.42

/** Draws one frame. `ratio` is the device pixel ratio. */
export function paint(ctx: CanvasRenderingContext2D, input: FrameInput, ratio: number): void {
  const { size, scene, xy, camera } = input
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0)
  ctx.clearRect(0, 0, size.width, size.height)
  const screen = scene.nodes.map((_, i) => {
    const at = positionOf(xy, i)
    return at && toScreen(camera, at)
  })
  const frame: Frame = { ...input, ctx, screen, highlight: highlightOf(input) }
  paintEdges(frame)
  paintNodes(frame)
  paintRings(frame)
  paintCaptions(frame)
}

/** Returns the neighbourhood of the hovered node or edge, otherwise of the selected one. */
function highlightOf(input: FrameInput): Frame['highlight'] {
  const { scene } = input
  const node = input.hoveredNode >= 0 ? input.hoveredNode : input.hoveredEdge >= 0 ? -1 : input.selectedNode
  if (node >= 0) {
    const edges = new Set(scene.edgesOf[node])
    const nodes = new Set([node])
    for (const i of edges) {
      const edge = scene.edges[i]
      if (edge) nodes.add(edge.source).add(edge.target)
    }
    return { nodes, edges }
  }
  const edge = scene.edges[input.hoveredEdge >= 0 ? input.hoveredEdge : input.selectedEdge]
  if (!edge) return null
  return { nodes: new Set([edge.source, edge.target]), edges: new Set([scene.edges.indexOf(edge)]) }
}

function edgeTier(frame: Frame, i: number): Tier {
  if (!frame.highlight) return 'plain'
  return frame.highlight.edges.has(i) ? 'strong' : 'faint'
}

function paintEdges(frame: Frame): void {
  const { ctx, scene, palette, camera } = frame
  const strokes: Record<Tier, Path2D> = { faint: new Path2D(), plain: new Path2D(), strong: new Path2D() }
  const arrows: Record<Tier, Path2D> = { faint: new Path2D(), plain: new Path2D(), strong: new Path2D() }
  scene.edges.forEach((edge, i) => {
    const tier = edgeTier(frame, i)
    const a = frame.screen[edge.source]
    const b = frame.screen[edge.target]
    if (!a || !b || outside(a, b, frame.size)) return
    addEdge(strokes[tier], frame, edge, a, b)
    if (camera.k >= ARROWS_FROM || tier === 'strong') addArrow(arrows[tier], frame, edge, a, b)
  })
  const colors: Record<Tier, string> = {
    faint: palette.edgeFaint,
    plain: palette.edge,
    strong: palette.edgeStrong,
  }
  for (const tier of ['faint', 'plain', 'strong'] as const) {
    ctx.lineWidth = tier === 'strong' ? 1.6 : camera.k < 0.5 ? 0.7 : 1
    ctx.strokeStyle = colors[tier]
    ctx.stroke(strokes[tier])
    ctx.fillStyle = colors[tier]
    ctx.fill(arrows[tier])
  }
}

function addEdge(path: Path2D, frame: Frame, edge: SceneEdge, a: Point, b: Point): void {
  const bend = edge.bend * frame.camera.k
  if (edge.source === edge.target) {
    const loop = loopCircle(a, screenRadius(frame, edge.source), bend)
    path.moveTo(loop.x + loop.r, loop.y)
    path.arc(loop.x, loop.y, loop.r, 0, 2 * Math.PI)
    return
  }
  path.moveTo(a.x, a.y)
  if (bend === 0) {
    path.lineTo(b.x, b.y)
    return
  }
  const control = controlPoint(a, b, bend)
  path.quadraticCurveTo(control.x, control.y, b.x, b.y)
}

function addArrow(path: Path2D, frame: Frame, edge: SceneEdge, a: Point, b: Point): void {
  if (edge.source === edge.target) return
  const arrow = arrowOf(a, b, edge.bend * frame.camera.k, screenRadius(frame, edge.target) + 2)
  if (!arrow) return
  const length = Math.min(8, 4 + 3 * frame.camera.k)
  for (const [i, turn] of [0, 2.65, -2.65].entries()) {
    const reach = i === 0 ? 0 : length
    const x = arrow.tip.x + Math.cos(arrow.angle + turn) * reach
    const y = arrow.tip.y + Math.sin(arrow.angle + turn) * reach
    if (i === 0) path.moveTo(x, y)
    else path.lineTo(x, y)
  }
  path.closePath()
}

function paintNodes(frame: Frame): void {
  const { ctx, scene, palette, size } = frame
  const paths = new Map<string, Path2D>()
  const borders = new Path2D()
  const holes = new Path2D()
  const dots = new Path2D()
  scene.nodes.forEach((node, i) => {
    const at = frame.screen[i]
    const r = screenRadius(frame, i)
    if (!at || at.x < -r || at.y < -r || at.x > size.width + r || at.y > size.height + r) return
    const fill =
      nodeTier(frame, i) === 'faint' ? palette.nodeFaint[node.entityType] : palette.node[node.entityType]
    const path = paths.get(fill) ?? new Path2D()
    paths.set(fill, path)
    addShape(path, node.entityType, at, r)
    addShape(borders, node.entityType, at, r + 1)
    addMarks(frame, node, at, r, holes, dots)
  })
  // An outline in the background colour separates each node from edges and neighbours.
  ctx.fillStyle = palette.background
  ctx.fill(borders)
  for (const [fill, path] of paths) {
    ctx.fillStyle = fill
    ctx.fill(path)
  }
  ctx.fillStyle = palette.background
  ctx.fill(holes)
  ctx.fillStyle = palette.accent
  ctx.fill(dots)
}

/** A pinned node has a hole in its centre. A node with unshown neighbours has a dot at its side. */
function addMarks(frame: Frame, node: SceneNode, at: Point, r: number, holes: Path2D, dots: Path2D): void {
  if (r < 4) return
  if (frame.pinned.has(node.id)) circle(holes, at.x, at.y, Math.min(3, r * 0.35))
  if (node.more) circle(dots, at.x + r * 0.8, at.y - r * 0.8, Math.min(4, Math.max(2.5, r * 0.3)))
}

function circle(path: Path2D, x: number, y: number, r: number): void {
  path.moveTo(x + r, y)
  path.arc(x, y, r, 0, 2 * Math.PI)
}

function paintRings(frame: Frame): void {
  const { ctx, palette, scene } = frame
  const ring = (i: number, gap: number, width: number, opacity: number) => {
    const at = frame.screen[i]
    const node = scene.nodes[i]
    if (!at || !node) return
    const path = new Path2D()
    addShape(path, node.entityType, at, screenRadius(frame, i) + gap)
    ctx.globalAlpha = opacity
    ctx.lineWidth = width
    ctx.strokeStyle = palette.accent
    ctx.stroke(path)
    ctx.globalAlpha = 1
  }
  for (const [id, left] of frame.flashes) {
    const i = scene.nodeIndex.get(id)
    if (i !== undefined) ring(i, 3 + 12 * (1 - left), 2, left)
  }
  if (frame.hoveredNode >= 0 && frame.hoveredNode !== frame.selectedNode) ring(frame.hoveredNode, 3, 1.5, 0.7)
  if (frame.selectedNode >= 0) ring(frame.selectedNode, 4, 2.5, 1)
}
