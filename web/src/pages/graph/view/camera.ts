// The visible part of the graph's plane: screen = world * k + (x, y), in CSS pixels.

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

export const MIN_ZOOM = 0.05
export const MAX_ZOOM = 6
/** Fitting does not zoom in farther, so that three nodes do not fill the screen. */
const MAX_FIT_ZOOM = 1.6

export const INITIAL_CAMERA: Camera = { x: 0, y: 0, k: 1 }

export function toScreen(camera: Camera, p: Point): Point {
  return { x: p.x * camera.k + camera.x, y: p.y * camera.k + camera.y }
}

export function toWorld(camera: Camera, p: Point): Point {
  return { x: (p.x - camera.x) / camera.k, y: (p.y - camera.y) / camera.k }
}

/** Zooms by a factor around a fixed point on the screen. */
export function zoomAt(camera: Camera, anchor: Point, factor: number): Camera {
  const k = Math.min(MAX_ZOOM, Math.max(MIN_ZOOM, camera.k * factor))
  const fixed = toWorld(camera, anchor)
  return { k, x: anchor.x - fixed.x * k, y: anchor.y - fixed.y * k }
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

/** Returns the bounding box of points given as x, y, x, y …; null if none has a position. */
export function boundsOf(xy: ArrayLike<number>, only?: Iterable<number>): Bounds | null {
  const box = { left: Infinity, top: Infinity, right: -Infinity, bottom: -Infinity }
  const include = (i: number) => {
    const [x = NaN, y = NaN] = [xy[2 * i], xy[2 * i + 1]]
    if (Number.isNaN(x) || Number.isNaN(y)) return
    box.left = Math.min(box.left, x)
    box.right = Math.max(box.right, x)
    box.top = Math.min(box.top, y)
    box.bottom = Math.max(box.bottom, y)
  }
  if (only) for (const i of only) include(i)
  else for (let i = 0; 2 * i < xy.length; i++) include(i)
  return box.left <= box.right ? box : null
}

/** The margin of a fitted graph. At the top there is the toolbar, which has two lines on a phone. */
const MARGIN = 48
const topOf = (size: Size) => (size.width < 520 ? 128 : 84)

/** Returns the camera that centres a box on the screen with a margin. */
export function fit(bounds: Bounds, size: Size): Camera {
  const top = topOf(size)
  const room = {
    width: Math.max(size.width - 2 * MARGIN, 1),
    height: Math.max(size.height - MARGIN - top, 1),
  }
  const wide = Math.max(bounds.right - bounds.left, 1)
  const high = Math.max(bounds.bottom - bounds.top, 1)
  const k = Math.max(MIN_ZOOM, Math.min(MAX_FIT_ZOOM, room.width / wide, room.height / high))
  return {
    k,
    x: size.width / 2 - ((bounds.left + bounds.right) / 2) * k,
    y: top + room.height / 2 - ((bounds.top + bounds.bottom) / 2) * k,
  }
}

/**
 * Returns the camera with the smallest move that shows a point with a margin; the same camera if it is already
 * visible.
 */
export function reveal(camera: Camera, p: Point, size: Size, margin = 60): Camera {
  const at = toScreen(camera, p)
  const inside = (value: number, length: number) =>
    length <= 2 * margin ? length / 2 : Math.min(length - margin, Math.max(margin, value))
  const dx = inside(at.x, size.width) - at.x
  const dy = inside(at.y, size.height) - at.y
  return dx === 0 && dy === 0 ? camera : pan(camera, dx, dy)
}

/** Interpolates between two cameras; t is 0 to 1. */
export function interpolate(a: Camera, b: Camera, t: number): Camera {
  const mix = (p: number, q: number) => p + (q - p) * t
  return { x: mix(a.x, b.x), y: mix(a.y, b.y), k: mix(a.k, b.k) }
}
