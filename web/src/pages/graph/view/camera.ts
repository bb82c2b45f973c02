// Which part of the graph's plane is seen: screen = world * k + (x, y), in CSS pixels.

export interface Camera {
  readonly x: number
  readonly y: number
  readonly k: number
}

export interface Point {
  x: number
  y: number
}

export interface Size {
  width: number
  height: number
}

export const LEAST_ZOOM = 0.05
export const MOST_ZOOM = 6
/** Fitting never zooms in farther: three nodes should not fill a screen. */
const MOST_FIT = 1.6

export const START: Camera = { x: 0, y: 0, k: 1 }

export function toScreen(camera: Camera, p: Point): Point {
  return { x: p.x * camera.k + camera.x, y: p.y * camera.k + camera.y }
}

export function toWorld(camera: Camera, p: Point): Point {
  return { x: (p.x - camera.x) / camera.k, y: (p.y - camera.y) / camera.k }
}

/** Zooms by a factor; what is under `at` stays under it. */
export function zoomAt(camera: Camera, at: Point, factor: number): Camera {
  const k = Math.min(MOST_ZOOM, Math.max(LEAST_ZOOM, camera.k * factor))
  const fixed = toWorld(camera, at)
  return { k, x: at.x - fixed.x * k, y: at.y - fixed.y * k }
}

export function pan(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x + dx, y: camera.y + dy }
}

export interface Bounds {
  left: number
  top: number
  right: number
  bottom: number
}

/** The box around points given as x, y, x, y …; null: none has a place. */
export function boundsOf(xy: ArrayLike<number>, only?: Iterable<number>): Bounds | null {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
  const take = (i: number) => {
    const [x = NaN, y = NaN] = [xy[2 * i], xy[2 * i + 1]]
    if (Number.isNaN(x) || Number.isNaN(y)) return
    box.left = Math.min(box.left, x)
    box.right = Math.max(box.right, x)
    box.top = Math.min(box.top, y)
    box.bottom = Math.max(box.bottom, y)
  }
  if (only) for (const i of only) take(i)
  else for (let i = 0; 2 * i < xy.length; i++) take(i)
  return box.left <= box.right ? box : null
}

/** Around what is fitted in; at the top there is what floats over the picture, on a phone in two lines. */
const MARGIN = 48
const topOf = (size: Size) => (size.width < 520 ? 128 : 84)

/** The camera that shows a box in the middle of a screen, with a margin. */
export function fit(bounds: Bounds, size: Size): Camera {
  const top = topOf(size)
  const room = {
    width: Math.max(size.width - 2 * MARGIN, 1),
    height: Math.max(size.height - MARGIN - top, 1),
  }
  const wide = Math.max(bounds.right - bounds.left, 1)
  const high = Math.max(bounds.bottom - bounds.top, 1)
  const k = Math.max(LEAST_ZOOM, Math.min(MOST_FIT, room.width / wide, room.height / high))
  return {
    k,
    x: size.width / 2 - ((bounds.left + bounds.right) / 2) * k,
    y: top + room.height / 2 - ((bounds.top + bounds.bottom) / 2) * k,
  }
}

/** The least move after which a point is on the screen, with a margin; the same camera where it is already. */
export function reveal(camera: Camera, p: Point, size: Size, margin = 60): Camera {
  const at = toScreen(camera, p)
  const inside = (value: number, length: number) =>
    length <= 2 * margin ? length / 2 : Math.min(length - margin, Math.max(margin, value))
  const dx = inside(at.x, size.width) - at.x
  const dy = inside(at.y, size.height) - at.y
  return dx === 0 && dy === 0 ? camera : pan(camera, dx, dy)
}

/** A camera between two, for a smooth way from one to the other; t from 0 to 1. */
export function between(a: Camera, b: Camera, t: number): Camera {
  const mix = (p: number, q: number) => p + (q - p) * t
  return { x: mix(a.x, b.x), y: mix(a.y, b.y), k: mix(a.k, b.k) }
}
