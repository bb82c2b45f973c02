// Hit tests and arrow key navigation. They scan all elements: for 1,000 nodes and a few thousand edges that takes some
// hundred microseconds, less than maintaining a spatial index of positions that change at every frame.

import type { Point } from './camera'
import { controlPoint, distanceToCircle, distanceToCurve, distanceToSegment, loopCircle } from './geometry'
import type { Scene, SceneEdge } from './scene'

/** The x and y coordinates by node index. */
export type Positions = ArrayLike<number>

export function positionOf(xy: Positions, i: number): Point | null {
  const x = xy[2 * i]
  const y = xy[2 * i + 1]
  return x === undefined || y === undefined || Number.isNaN(x) || Number.isNaN(y) ? null : { x, y }
}

/** Returns the index of the nearest node within `slack` of a point; -1 if there is none. */
export function nodeAt(scene: Scene, xy: Positions, p: Point, slack: number): number {
  let best = -1
  let min = Infinity
  scene.nodes.forEach((node, i) => {
    const at = positionOf(xy, i)
    if (!at) return
    const distance = Math.hypot(at.x - p.x, at.y - p.y) - node.radius
    if (distance <= slack && distance < min) {
      min = distance
      best = i
    }
  })
  return best
}

/** Returns the index of the edge within `slack` of a point; -1 if there is none. */
export function edgeAt(scene: Scene, xy: Positions, p: Point, slack: number): number {
  let best = -1
  let min = slack
  scene.edges.forEach((edge, i) => {
    const distance = edgeDistance(scene, xy, edge, p, min)
    if (distance < min) {
      min = distance
      best = i
    }
  })
  return best
}

function edgeDistance(scene: Scene, xy: Positions, edge: SceneEdge, p: Point, enough: number): number {
  const a = positionOf(xy, edge.source)
  const b = positionOf(xy, edge.target)
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

export type ArrowDirection = 'left' | 'right' | 'up' | 'down'

const DIRECTIONS: Record<ArrowDirection, Point> = {
  left: { x: -1, y: 0 },
  right: { x: 1, y: 0 },
  up: { x: 0, y: -1 },
  down: { x: 0, y: 1 },
}

/**
 * Returns the index of the node that is nearest in a direction, with a penalty for the distance from the axis; -1 if
 * there is none.
 */
export function nodeTowards(scene: Scene, xy: Positions, from: number, direction: ArrowDirection): number {
  const start = positionOf(xy, from)
  if (!start) return -1
  const { x: ux, y: uy } = DIRECTIONS[direction]
  let best = -1
  let min = Infinity
  for (let i = 0; i < scene.nodes.length; i++) {
    const at = positionOf(xy, i)
    if (!at || i === from) continue
    const along = (at.x - start.x) * ux + (at.y - start.y) * uy
    const aside = Math.abs((at.x - start.x) * uy - (at.y - start.y) * ux)
    if (along <= 0 || aside > along * 2) continue
    const cost = along + 2 * aside
    if (cost < min) {
      min = cost
      best = i
    }
  }
  return best
}

/** Returns the index of the node nearest to a point at any distance; -1 if there is none. */
export function nearestNode(scene: Scene, xy: Positions, p: Point): number {
  return nodeAt(scene, xy, p, Infinity)
}
