// What fingers and mice do on the canvas, as a few gestures: the same for both.

import type { Point } from './camera'

export type Gesture =
  | { type: 'hover'; at: Point | null }
  | { type: 'press'; at: Point; touch: boolean }
  /** The pointer is down and moved, since the last one by dx, dy. */
  | { type: 'drag'; at: Point; dx: number; dy: number }
  | { type: 'release' }
  /** Down and up at one place. */
  | { type: 'tap'; at: Point; touch: boolean }
  | { type: 'double'; at: Point; touch: boolean }
  | { type: 'menu'; at: Point; touch: boolean }
  /** The wheel, or two fingers, which may move as well. */
  | { type: 'zoom'; at: Point; factor: number; dx: number; dy: number }

/** Pixels that a hand trembles, and milliseconds between two taps, and until a finger that rests asks for the menu. */
const TREMBLE = 4
const TWICE = 320
const LONG = 550

export class Gestures {
  private readonly down = new Map<number, Point>()
  private start: Point | null = null
  private moved = false
  private touch = false
  private lastTap: { at: Point; time: number } | null = null
  private long = 0
  private readonly abort = new AbortController()

  constructor(
    private readonly surface: HTMLElement,
    private readonly emit: (gesture: Gesture) => void,
  ) {
    const { signal } = this.abort
    surface.addEventListener('pointerdown', (event) => this.press(event), { signal })
    surface.addEventListener('pointermove', (event) => this.move(event), { signal })
    surface.addEventListener('pointerup', (event) => this.lift(event, true), { signal })
    surface.addEventListener('pointercancel', (event) => this.lift(event, false), { signal })
    surface.addEventListener('pointerleave', () => this.emit({ type: 'hover', at: null }), { signal })
    surface.addEventListener('wheel', (event) => this.wheel(event), { signal, passive: false })
    surface.addEventListener('contextmenu', (event) => this.menu(event), { signal })
  }

  close(): void {
    this.abort.abort()
    window.clearTimeout(this.long)
  }

  private at(event: MouseEvent): Point {
    const box = this.surface.getBoundingClientRect()
    return { x: event.clientX - box.left, y: event.clientY - box.top }
  }

  private press(event: PointerEvent): void {
    if (event.button !== 0) return
    const at = this.at(event)
    this.surface.setPointerCapture(event.pointerId)
    this.down.set(event.pointerId, at)
    this.touch = event.pointerType !== 'mouse'
    window.clearTimeout(this.long)
    if (this.down.size > 1) {
      this.moved = true // two fingers are no tap
      this.emit({ type: 'release' })
      return
    }
    this.start = at
    this.moved = false
    this.emit({ type: 'press', at, touch: this.touch })
    if (this.touch) this.long = window.setTimeout(() => this.rest(at), LONG)
  }

  private rest(at: Point): void {
    this.moved = true // what follows is no tap any more
    this.emit({ type: 'menu', at, touch: true })
  }

  private move(event: PointerEvent): void {
    const at = this.at(event)
    const before = this.down.get(event.pointerId)
    if (!before) {
      if (event.pointerType === 'mouse') this.emit({ type: 'hover', at })
      return
    }
    if (this.down.size === 2) this.pinch(event.pointerId, before, at)
    else if (this.moved || !this.start || Math.hypot(at.x - this.start.x, at.y - this.start.y) > TREMBLE) {
      window.clearTimeout(this.long)
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

  private lift(event: PointerEvent, meant: boolean): void {
    window.clearTimeout(this.long)
    if (!this.down.delete(event.pointerId)) return
    if (this.down.size > 0) return
    this.emit({ type: 'release' })
    if (this.moved || !meant) return
    const at = this.at(event)
    const twice =
      this.lastTap &&
      event.timeStamp - this.lastTap.time < TWICE &&
      Math.hypot(at.x - this.lastTap.at.x, at.y - this.lastTap.at.y) < 4 * TREMBLE
    this.lastTap = twice ? null : { at, time: event.timeStamp }
    this.emit({ type: twice ? 'double' : 'tap', at, touch: this.touch })
  }

  private wheel(event: WheelEvent): void {
    event.preventDefault()
    const lines = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 20 : 1
    // Trackpads pinch by a wheel with Ctrl, in small steps.
    const speed = event.ctrlKey ? 0.01 : 0.0016
    const factor = Math.exp(-Math.max(-240, Math.min(240, event.deltaY * lines)) * speed)
    this.emit({ type: 'zoom', at: this.at(event), factor, dx: 0, dy: 0 })
  }

  private menu(event: MouseEvent): void {
    event.preventDefault()
    if (!this.touch || this.down.size === 0) this.emit({ type: 'menu', at: this.at(event), touch: false })
  }
}
