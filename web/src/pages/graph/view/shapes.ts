// A shape for each entity type, so that types are distinguishable without colours. All have about the same area.

import type { EntityType } from '../model/types'

/** The subset of Path2D that is used. */
export interface PathBuilder {
  moveTo: (x: number, y: number) => void
  lineTo: (x: number, y: number) => void
  arc: (x: number, y: number, r: number, from: number, to: number) => void
  closePath: () => void
}

interface Polygon {
  corners: number
  /** The direction of the first corner, as a fraction of a turn. */
  turn: number
  size: number
}

// Each with another number of corners: a test compares them.
const POLYGONS: Record<Exclude<EntityType, 'object'>, Polygon> = {
  concept: { corners: 4, turn: -0.25, size: 1.25 },
  process: { corners: 6, turn: 0, size: 1.1 },
  actor: { corners: 3, turn: -0.25, size: 1.42 },
}

/** Adds the shape of a type to a path: objects are circles, other types polygons. */
export function addShape(pen: PathBuilder, type: EntityType, at: { x: number; y: number }, r: number): void {
  if (type === 'object') {
    pen.moveTo(at.x + r, at.y)
    pen.arc(at.x, at.y, r, 0, 2 * Math.PI)
    pen.closePath()
    return
  }
  const points = corners(type, at, r)
  points.forEach(({ x, y }, i) => (i === 0 ? pen.moveTo(x, y) : pen.lineTo(x, y)))
  pen.closePath()
}

function corners(type: Exclude<EntityType, 'object'>, at: { x: number; y: number }, r: number) {
  const { corners: n, turn, size } = POLYGONS[type]
  return Array.from({ length: n }, (_, i) => {
    const angle = 2 * Math.PI * (turn + i / n)
    return { x: at.x + Math.cos(angle) * r * size, y: at.y + Math.sin(angle) * r * size }
  })
}

/** Returns the shape as the `points` of an SVG polygon; null for a circle. */
export function polygonPoints(type: EntityType, at: { x: number; y: number }, r: number): string | null {
  if (type === 'object') return null
  return corners(type, at, r)
    .map(({ x, y }) => `${x.toFixed(2)},${y.toFixed(2)}`)
    .join(' ')
}
