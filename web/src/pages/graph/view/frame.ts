// The state of one frame, which all painters share.

import type { Camera, Point, Size } from './camera'
import type { Places } from './hit'
import type { Palette } from './palette'
import type { Scene } from './scene'

export interface Look {
  scene: Scene
  xy: Places
  camera: Camera
  size: Size
  palette: Palette
  /** Places; -1: none. */
  hoveredNode: number
  hoveredEdge: number
  selectedNode: number
  selectedEdge: number
  /** Ids of nodes that are held where they were put. */
  pinned: ReadonlySet<string>
  /** What changed a moment ago, by id: from 1, just now, to 0. */
  flashes: ReadonlyMap<string, number>
  /** Places whose labels were shown in the frame before: they keep their right of way, so that nothing flickers. */
  labelled: Set<number>
  /** Widths of labels, by text. */
  widths: Map<string, number>
}

export type Tier = 'faint' | 'plain' | 'strong'

/** No node gets smaller than this on the screen. */
const LEAST_RADIUS = 2.2
/** What one frame works with. */
export interface Frame extends Look {
  ctx: CanvasRenderingContext2D
  screen: (Point | null)[]
  /** Nodes and edges that are brought out; null: none in particular. */
  near: { nodes: Set<number>; edges: Set<number> } | null
}

export function nodeTier(frame: Frame, i: number): Tier {
  return !frame.near || frame.near.nodes.has(i) ? 'plain' : 'faint'
}

/** Whether a line from a to b cannot cross the screen, with room for what is bent. */
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
  return Math.max(LEAST_RADIUS, (frame.scene.nodes[i]?.radius ?? 0) * frame.camera.k)
}
