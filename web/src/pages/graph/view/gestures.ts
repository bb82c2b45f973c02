// Translates pointer events of mice and touch screens to gestures.

import type { Point } from './camera'

export type Gesture =
  | { type: 'hover'; at: Point | null }
  | { type: 'press'; at: Point; touch: boolean }
  /** The pointer moved while down, by dx, dy since the last event. */
  | { type: 'drag'; at: Point; dx: number; dy: number }
  | { type: 'release' }
  /** Down and up at one position. */
  | { type: 'tap'; at: Point; touch: boolean }
  | { type: 'double'; at: Point; touch: boolean }
  | { type: 'menu'; at: Point; touch: boolean }
  /** The wheel, or two fingers, which may also move. */
  | { type: 'zoom'; at: Point; factor: number; dx: number; dy: number }

/**
 * The tolerance of a tap in pixels, the milliseconds between the taps of a double tap, and the milliseconds of a long
 * press, which opens the menu.
 */
const TAP_TOLERANCE_PX = 4
const DOUBLE_TAP_MS = 320
const LONG_PRESS_MS = 550

export class Gestures {
  private readonly down = new Map<number, Point>()
  private start: Point | null = null
  private moved = false
  private touch = false
  private lastTap: { at: Point; time: number } | null = null
  private longPressTimer = 0
  private readonly abort = new AbortController()

  constructor(
    private readonly surface: HTMLElement,
    private readonly emit: (gesture: Gesture) => void,
  ) {
    const { signal } = this.abort
    surface.addEventListener('pointerdown', (event) => this.onPointerDown(event), { signal })
    surface.addEventListener('pointermove', (event) => this.onPointerMove(event), { signal })
    surface.addEventListener('pointerup', (event) => this.onPointerUp(event, true), { signal })
    surface.addEventListener('pointercancel', (event) => this.onPointerUp(event, false), { signal })
    surface.addEventListener('pointerleave', () => this.emit({ type: 'hover', at: null }), { signal })
    surface.addEventListener('wheel', (event) => this.onWheel(event), { signal, passive: false })
    surface.addEventListener('contextmenu', (event) => this.onContextMenu(event), { signal })
  }

  close(): void {
    this.abort.abort()
    window.clearTimeout(this.longPressTimer)
  }

  private at(event: MouseEvent): Point {
    const box = this.surface.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }

  private onPointerDown(event: PointerEvent): void {
    if (event.button !== 0) return
    const at = this.at(event)
    this.surface.setPointerCapture(event.pointerId)
    this.down.set(event.pointerId, at)
    this.touch = event.pointerType !== 'mouse'
    window.clearTimeout(this.longPressTimer)
    if (this.down.size > 1) {
      this.moved = true // two fingers are not a tap
      this.emit({ type: 'release' })
      return
    }
    this.start = at
    this.moved = false
    this.emit({ type: 'press', at, touch: this.touch })
    if (this.touch) this.longPressTimer = window.setTimeout(() => this.startLongPress(at), LONG_PRESS_MS)
  }

  private startLongPress(at: Point): void {
    this.moved = true // what follows is not a tap
    this.emit({ type: 'menu', at, touch: true })
  }

  private onPointerMove(event: PointerEvent): void {
    const at = this.at(event)
    const before = this.down.get(event.pointerId)
    if (!before) {
      if (event.pointerType === 'mouse') this.emit({ type: 'hover', at })
      return
    }
    if (this.down.size === 2) this.pinch(event.pointerId, before, at)
    else if (
      this.moved ||
      !this.start ||
      Math.hypot(at.x - this.start.x, at.y - this.start.y) > TAP_TOLERANCE_PX
    ) {
      window.clearTimeout(this.longPressTimer)
      const from = this.moved ? before : (this.start ?? before)
      this.moved = true
      this.emit({ type: 'drag', at, dx: at.x - from.x, dy: at.y - from.y })
    }
    this.down.set(event.pointerId, at)
  }

  private pinch(moving: number, before: Point, at: Point): void {
    const other = [...this.down].find(([id]) => id !== moving)?.[1]
    if (!other) return
    const apart = Math.hypot(before.x - other.x, before.y - other.y)
    const now = Math.hypot(at.x - other.x, at.y - other.y)
    const middle = { x: (at.x + other.x) / 2, y: (at.y + other.y) / 2 }
    const factor = apart > 0 ? now / apart : 1
    this.emit({ type: 'zoom', at: middle, factor, dx: (at.x - before.x) / 2, dy: (at.y - before.y) / 2 })
  }

  private onPointerUp(event: PointerEvent, meant: boolean): void {
    window.clearTimeout(this.longPressTimer)
    if (!this.down.delete(event.pointerId)) return
    if (this.down.size > 0) return
    this.emit({ type: 'release' })
    if (this.moved || !meant) return
    const at = this.at(event)
    const isDouble =
      this.lastTap &&
      event.timeStamp - this.lastTap.time < DOUBLE_TAP_MS &&
      Math.hypot(at.x - this.lastTap.at.x, at.y - this.lastTap.at.y) < 4 * TAP_TOLERANCE_PX
    this.lastTap = isDouble ? null : { at, time: event.timeStamp }
    this.emit({ type: isDouble ? 'double' : 'tap', at, touch: this.touch })
  }

  private onWheel(event: WheelEvent): void {
    event.preventDefault()
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1
    // Trackpads report a pinch as a wheel event with Ctrl, in small steps.
    const speed = event.ctrlKey ? 0.01 : 0.0016
    const factor = Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) * speed)
    this.emit({ type: 'zoom', at: this.at(event), factor, dx: 0, dy: 0 })
  }

  private onContextMenu(event: MouseEvent): void {
    event.preventDefault()
    if (!this.touch || this.down.size === 0) this.emit({ type: 'menu', at: this.at(event), touch: false })
  }
}
