// Draws the names of nodes and the relations of edges, as many as there is space for.

import type { Point } from './camera'
import { nodeTier, outside, screenRadius, type Frame } from './frame'
import { controlPoint, loopCircle, onCurve } from './geometry'
import { chooseLabels, shorten, type Box, type Label } from './labels'
import type { SceneEdge, SceneNode } from './scene'

interface Caption extends Label {
  text: string
  /** The caption of a node; otherwise of an edge. */
  node: boolean
}

const NAME = { size: 11, height: 15, maxLength: 34 }
const RELATION = { size: 10, height: 13, maxLength: 24 }
/** The zoom from which the relations of all edges are shown. */
const RELATIONS_FROM = 1.35
/** Screen pixels per caption. With more captions none is readable. */
const PIXELS_PER_CAPTION = 7000
/** Relations have a lower priority than names, except for the hovered one. */
const RELATION_WEIGHT = -1

export function paintCaptions(frame: Frame): void {
  const { size, camera, labelled } = frame
  const names = namesOf(frame)
  const room =
    ((size.width * size.height) / PIXELS_PER_CAPTION) * Math.min(1.5, Math.max(0.5, camera.k * 1.5))
  const chosen = chooseLabels([...names, ...relationsOf(frame)], Math.round(room), obstaclesOf(frame))
  labelled.clear()
  for (const caption of chosen) if (caption.node) labelled.add(caption.index)
  write(frame, chosen)
}

/** Returns the boxes of nodes that captions must not cover: a name on another node would appear to belong to it. */
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
    const text = shorten(node.name, NAME.maxLength)
    const width = widthOf(frame, true, text) + 6
    const y = at.y + screenRadius(frame, i) + NAME.height / 2 + 2
    // At the border of the screen the caption moves inwards instead of being cut off.
    const x = Math.max(width / 2, Math.min(size.width - width / 2, at.x))
    captions.push({ node: true, index: i, x, y, width, height: NAME.height, weight, text })
  })
  return captions
}

/** Returns the priority of a name; below 0 it is not shown. */
function weightOf(frame: Frame, node: SceneNode, i: number): number {
  if (i === frame.selectedNode || i === frame.hoveredNode) return Infinity
  // While nodes are highlighted, only they have names.
  if (frame.highlight) return frame.highlight.nodes.has(i) ? 1e6 + node.degree : -1
  // A name of the previous frame stays unless another is clearly more important.
  return frame.labelled.has(i) ? node.degree * 1.25 + 1.5 : node.degree
}

function relationsOf(frame: Frame): Caption[] {
  const { scene, camera } = frame
  let places: number[] = []
  if (frame.highlight) places = [...frame.highlight.edges]
  else if (camera.k >= RELATIONS_FROM) places = scene.edges.map((_, i) => i)
  setFont(frame, false)
  const captions: Caption[] = []
  for (const i of places) {
    const edge = scene.edges[i]
    const at = edge && middleOf(frame, edge)
    if (!edge || !at || outside(at, at, frame.size)) continue
    const text = shorten(edge.relationType, RELATION.maxLength)
    const weight = i === frame.hoveredEdge || i === frame.selectedEdge ? Infinity : RELATION_WEIGHT
    const width = widthOf(frame, false, text) + 6
    captions.push({ node: false, index: i, ...at, width, height: RELATION.height, weight, text })
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

/** Returns the cached width of a text in the current font. */
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
  ctx.strokeStyle = palette.labelBackground
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
  if (caption.node) return nodeTier(frame, caption.index) === 'faint' ? palette.textFaint : palette.text
  return frame.highlight?.edges.has(caption.index) ? palette.edgeStrong : palette.textFaint
}
