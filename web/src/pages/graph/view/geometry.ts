// The shapes of edges: straight lines, quadratic curves for parallel edges, circles for loops.

import type { Point } from './camera'

/** Returns the control point of a quadratic curve whose middle is `bend` to the left of a → b. */
export function controlPoint(a: Point, b: Point, bend: number): Point {
  const dx = b.x - a.x
  const dy = b.y - a.y
  const length = Math.hypot(dx, dy) || 1
  return { x: (a.x + b.x) / 2 + (2 * bend * dy) / length, y: (a.y + b.y) / 2 - (2 * bend * dx) / length }
}

/** Returns a point of the quadratic curve a, control, b; t is 0 to 1. */
export function onCurve(a: Point, control: Point, b: Point, t: number): Point {
  const s = 1 - t
  return {
    x: s * s * a.x + 2 * s * t * control.x + t * t * b.x,
    y: s * s * a.y + 2 * s * t * control.y + t * t * b.y,
  }
}

export interface Circle extends Point {
  r: number
}

/** Returns the circle of a loop: above its node, touching its centre. */
export function loopCircle(at: Point, radius: number, bend: number): Circle {
  const r = bend / 2 + radius / 2
  return { x: at.x, y: at.y - radius - r * 0.7, r }
}

export function distanceToSegment(p: Point, a: Point, b: Point): number {
  const dx = b.x - a.x
  const dy = b.y - a.y
  const square = dx * dx + dy * dy
  const t = square === 0 ? 0 : Math.min(1, Math.max(0, ((p.x - a.x) * dx + (p.y - a.y) * dy) / square))
  return Math.hypot(p.x - a.x - t * dx, p.y - a.y - t * dy)
}

const PIECES = 8

export function distanceToCurve(p: Point, a: Point, control: Point, b: Point): number {
  let min = Infinity
  let from = a
  for (let i = 1; i <= PIECES; i++) {
    const to = onCurve(a, control, b, i / PIECES)
    min = Math.min(min, distanceToSegment(p, from, to))
    from = to
  }
  return min
}

export function distanceToCircle(p: Point, circle: Circle): number {
  return Math.abs(Math.hypot(p.x - circle.x, p.y - circle.y) - circle.r)
}

export interface Arrow {
  tip: Point
  /** The direction in radians. */
  angle: number
}

/** Returns where the arrow of an edge touches the border of its target; null if the ends are too close. */
export function arrowOf(a: Point, b: Point, bend: number, targetRadius: number): Arrow | null {
  const from = bend === 0 ? a : controlPoint(a, b, bend)
  const dx = b.x - from.x
  const dy = b.y - from.y
  const length = Math.hypot(dx, dy)
  if (length <= targetRadius) return null
  return {
    tip: { x: b.x - (dx / length) * targetRadius, y: b.y - (dy / length) * targetRadius },
    angle: Math.atan2(dy, dx),
  }
}
