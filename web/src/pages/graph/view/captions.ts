// The names of nodes and the relations of edges, as many as there is room for.

import type { Point } from './camera'
import { nodeTier, outside, screenRadius, type Frame } from './frame'
import { controlPoint, loopCircle, onCurve } from './geometry'
import { chooseLabels, shorten, type Box, type Label } from './labels'
import type { SceneEdge, SceneNode } from './scene'

interface Caption extends Label {
  text: string
  /** Of a node; else of an edge. */
  node: boolean
}

const NAME = { size: 11, height: 15, most: 34 }
const RELATION = { size: 10, height: 13, most: 24 }
/** Zoom from which relations are written on all edges. */
const RELATIONS_FROM = 1.35
/** Pixels of the screen for each caption: with more of them nothing would be read. */
const ROOM = 7000
/** Relations come after all names, except for the hovered one. */
const BEHIND_NAMES = -1

export function paintCaptions(frame: Frame): void {
  const { size, camera, labelled } = frame
  const names = namesOf(frame)
  const room = ((size.width * size.height) / ROOM) * Math.min(1.5, Math.max(0.5, camera.k * 1.5))
  const chosen = chooseLabels([...names, ...relationsOf(frame)], Math.round(room), obstaclesOf(frame))
  labelled.clear()
  for (const caption of chosen) if (caption.node) labelled.add(caption.place)
  write(frame, chosen)
}

/** Nodes that are looked at: a name on top of another node would seem to be that one's. */
function obstaclesOf(frame: Frame): Box[] {
  const boxes: Box[] = []
  frame.screen.forEach((at, i) => {
    const width = screenRadius(frame, i) * 1.5
    if (at && width > 5 && nodeTier(frame, i) !== 'faint')
      boxes.push({ x: at.x, y: at.y, width, height: width })
  })
  return boxes
}

function namesOf(frame: Frame): Caption[] {
  const { scene, size } = frame
  setFont(frame, true)
  const captions: Caption[] = []
  scene.nodes.forEach((node, i) => {
    const at = frame.screen[i]
    if (!at || at.x < 0 || at.y < -20 || at.x > size.width || at.y > size.height) return
    const weight = weightOf(frame, node, i)
    if (weight < 0) return
    const text = shorten(node.name, NAME.most)
    const width = widthOf(frame, true, text) + 6
    const y = at.y + screenRadius(frame, i) + NAME.height / 2 + 2
    // At the side of the picture it moves inwards rather than being cut.
    const x = Math.max(width / 2, Math.min(size.width - width / 2, at.x))
    captions.push({ node: true, place: i, x, y, width, height: NAME.height, weight, text })
  })
  return captions
}

/** Which names go first; below 0: not at all. */
function weightOf(frame: Frame, node: SceneNode, i: number): number {
  if (i === frame.selectedNode || i === frame.hoveredNode) return Infinity
  // While nodes are highlighted, the others have no names.
  if (frame.near) return frame.near.nodes.has(i) ? 1e6 + node.degree : -1
  // What had a name in the frame before keeps it, unless another is clearly more important.
  return frame.labelled.has(i) ? node.degree * 1.25 + 1.5 : node.degree
}

function relationsOf(frame: Frame): Caption[] {
  const { scene, camera } = frame
  let places: number[] = []
  if (frame.near) places = [...frame.near.edges]
  else if (camera.k >= RELATIONS_FROM) places = scene.edges.map((_, i) => i)
  setFont(frame, false)
  const captions: Caption[] = []
  for (const i of places) {
    const edge = scene.edges[i]
    const at = edge && middleOf(frame, edge)
    if (!edge || !at || outside(at, at, frame.size)) continue
    const text = shorten(edge.relationType, RELATION.most)
    const weight = i === frame.hoveredEdge || i === frame.selectedEdge ? Infinity : BEHIND_NAMES
    const width = widthOf(frame, false, text) + 6
    captions.push({ node: false, place: i, ...at, width, height: RELATION.height, weight, text })
  }
  return captions
}

function middleOf(frame: Frame, edge: SceneEdge): Point | null {
  const a = frame.screen[edge.source]
  const b = frame.screen[edge.target]
  if (!a || !b) return null
  const bend = edge.bend * frame.camera.k
  if (edge.source === edge.target) {
    const loop = loopCircle(a, screenRadius(frame, edge.source), bend)
    return { x: loop.x, y: loop.y - loop.r }
  }
  return onCurve(a, controlPoint(a, b, bend), b, 0.5)
}

function setFont(frame: Frame, node: boolean): void {
  frame.ctx.font = `${(node ? NAME : RELATION).size}px ${frame.palette.font}`
}

/** The width of a text in the font that is set; remembered. */
function widthOf(frame: Frame, node: boolean, text: string): number {
  const key = node ? text : `${text}\n`
  const known = frame.widths.get(key)
  if (known !== undefined) return known
  if (frame.widths.size > 5000) frame.widths.clear()
  const width = frame.ctx.measureText(text).width
  frame.widths.set(key, width)
  return width
}

function write(frame: Frame, captions: readonly Caption[]): void {
  const { ctx, palette } = frame
  ctx.textAlign = 'center'
  ctx.textBaseline = 'middle'
  ctx.lineJoin = 'round'
  ctx.lineWidth = 3
  ctx.strokeStyle = palette.groundVeil
  for (const node of [false, true]) {
    setFont(frame, node)
    for (const caption of captions) {
      if (caption.node !== node) continue
      ctx.strokeText(caption.text, caption.x, caption.y)
      ctx.fillStyle = colorOf(frame, caption)
      ctx.fillText(caption.text, caption.x, caption.y)
    }
  }
}

function colorOf(frame: Frame, caption: Caption): string {
  const { palette } = frame
  if (caption.node) return nodeTier(frame, caption.place) === 'faint' ? palette.textFaint : palette.text
  return frame.near?.edges.has(caption.place) ? palette.edgeStrong : palette.textFaint
}
