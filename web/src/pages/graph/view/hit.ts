// What is under the pointer, and where the arrow keys lead. A scan over all: 1,000 nodes and a few thousand edges take
// some hundred microseconds, less than keeping a tree of places that move at every frame.

import type { Point } from './camera'
import { controlPoint, distanceToCircle, distanceToCurve, distanceToSegment, loopCircle } from './geometry'
import type { Scene, SceneEdge } from './scene'

/** x and y by the place of the node. */
export type Places = ArrayLike<number>

export function placeOf(xy: Places, i: number): Point | null {
  const x = xy[2 * i]
  const y = xy[2 * i + 1]
  return x === undefined || y === undefined || Number.isNaN(x) || Number.isNaN(y) ? null : { x, y }
}

/** The place of the node under a point, within `slack` of its border; the nearest where several are. -1: none. */
export function nodeAt(scene: Scene, xy: Places, p: Point, slack: number): number {
  let best = -1
  let least = Infinity
  scene.nodes.forEach((node, i) => {
    const at = placeOf(xy, i)
    if (!at) return
    const distance = Math.hypot(at.x - p.x, at.y - p.y) - node.radius
    if (distance <= slack && distance < least) {
      least = distance
      best = i
    }
  })
  return best
}

/** The place of the edge within `slack` of a point; -1: none. */
export function edgeAt(scene: Scene, xy: Places, p: Point, slack: number): number {
  let best = -1
  let least = slack
  scene.edges.forEach((edge, i) => {
    const distance = edgeDistance(scene, xy, edge, p, least)
    if (distance < least) {
      least = distance
      best = i
    }
  })
  return best
}

function edgeDistance(scene: Scene, xy: Places, edge: SceneEdge, p: Point, enough: number): number {
  const a = placeOf(xy, edge.source)
  const b = placeOf(xy, edge.target)
  if (!a || !b) return Infinity
  if (edge.source === edge.target) {
    return distanceToCircle(p, loopCircle(a, scene.nodes[edge.source]?.radius ?? 0, edge.bend))
  }
  const reach = enough + 2 * Math.abs(edge.bend)
  if (p.x < Math.min(a.x, b.x) - reach || p.x > Math.max(a.x, b.x) + reach) return Infinity
  if (p.y < Math.min(a.y, b.y) - reach || p.y > Math.max(a.y, b.y) + reach) return Infinity
  if (edge.bend === 0) return distanceToSegment(p, a, b)
  return distanceToCurve(p, a, controlPoint(a, b, edge.bend), b)
}

export type Way = 'left' | 'right' | 'up' | 'down'

const WAYS: Record<Way, Point> = {
  left: { x: -1, y: 0 },
  right: { x: 1, y: 0 },
  up: { x: 0, y: -1 },
  down: { x: 0, y: 1 },
}

/** The node that lies most clearly in a direction from another: near, and not far off the line. -1: none. */
export function nodeTowards(scene: Scene, xy: Places, from: number, way: Way): number {
  const start = placeOf(xy, from)
  if (!start) return -1
  const { x: ux, y: uy } = WAYS[way]
  let best = -1
  let least = Infinity
  for (let i = 0; i < scene.nodes.length; i++) {
    const at = placeOf(xy, i)
    if (!at || i === from) continue
    const along = (at.x - start.x) * ux + (at.y - start.y) * uy
    const aside = Math.abs((at.x - start.x) * uy - (at.y - start.y) * ux)
    if (along <= 0 || aside > along * 2) continue
    const cost = along + 2 * aside
    if (cost < least) {
      least = cost
      best = i
    }
  }
  return best
}

/** The node nearest to a point, however far. -1: there is none. */
export function nearestNode(scene: Scene, xy: Places, p: Point): number {
  return nodeAt(scene, xy, p, Infinity)
}
