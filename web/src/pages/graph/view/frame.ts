// The state of one frame, which all painters share.

import type { Camera, Point, Size } from './camera'
import type { Positions } from './hit'
import type { Palette } from './palette'
import type { Scene } from './scene'

export interface FrameInput {
  scene: Scene
  xy: Positions
  camera: Camera
  size: Size
  palette: Palette
  /** Indices; -1 for none. */
  hoveredNode: number
  hoveredEdge: number
  selectedNode: number
  selectedEdge: number
  /** Ids of pinned nodes. */
  pinned: ReadonlySet<string>
  /** Recently changed resources by id: from 1 (just now) to 0. */
  flashes: ReadonlyMap<string, number>
  /**
   * Indices of the nodes that were labelled in the previous frame. They have priority, so that labels do not flicker.
   */
  labelled: Set<number>
  /** Widths of labels by text. */
  widths: Map<string, number>
}

export type Tier = 'faint' | 'plain' | 'strong'

/** The minimum radius of a node on the screen. */
const MIN_RADIUS = 2.2
/** The state of a frame. */
export interface Frame extends FrameInput {
  ctx: CanvasRenderingContext2D
  screen: (Point | null)[]
  /** Highlighted nodes and edges; null for none. */
  highlight: { nodes: Set<number>; edges: Set<number> } | null
}

export function nodeTier(frame: Frame, i: number): Tier {
  return !frame.highlight || frame.highlight.nodes.has(i) ? 'plain' : 'faint'
}

/** Reports whether a line from a to b is outside the screen, with a margin for curves. */
export function outside(a: Point, b: Point, size: Size): boolean {
  const room = 80
  return (
    Math.max(a.x, b.x) < -room ||
    Math.max(a.y, b.y) < -room ||
    Math.min(a.x, b.x) > size.width + room ||
    Math.min(a.y, b.y) > size.height + room
  )
}

export function screenRadius(frame: Frame, i: number): number {
  return Math.max(MIN_RADIUS, (frame.scene.nodes[i]?.radius ?? 0) * frame.camera.k)
}
