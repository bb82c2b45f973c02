// The canvas: draws when something changed and only then, and turns what the pointer does into words for the page.

import type { LayoutClient } from '../layout/client'
import type { Ref } from '../model/types'
import {
  between,
  boundsOf,
  fit,
  pan,
  reveal,
  START,
  toWorld,
  zoomAt,
  type Camera,
  type Point,
  type Size,
} from './camera'
import { Gestures, type Gesture } from './gestures'
import { edgeAt, nearestNode, nodeAt, nodeTowards, placeOf, type Way } from './hit'
import { paint } from './paint'
import type { Palette } from './palette'
import type { Scene } from './scene'

export interface ViewEvents {
  onSelect: (ref: Ref | null) => void
  /** A node was pressed twice. */
  onOpen: (id: string) => void
}

/** Milliseconds for which a change glows, and for which the camera travels. */
const FLASH = 1600
const TRAVEL = 260
/** How far beside a node or an edge the pointer still means it, in pixels. */
const NODE_SLACK = 5
const TOUCH_SLACK = 14
const EDGE_SLACK = 5

const NO_SCENE: Scene = { nodes: [], edges: [], place: new Map(), edgePlace: new Map(), edgesOf: [] }

export class CanvasView {
  private scene = NO_SCENE
  private camera: Camera = START
  private size: Size = { width: 0, height: 0 }
  private palette: Palette | null = null
  private hovered: Ref | null = null
  private selected: Ref | null = null
  private dragging: string | null = null
  private travel: { from: Camera; to: Camera; since: number } | null = null
  private readonly flashes = new Map<string, number>()
  private readonly labelled = new Set<number>()
  private readonly widths = new Map<string, number>()
  private readonly gestures: Gestures
  private request = 0
  private still = false
  /** The camera keeps all in sight until the reader takes it. */
  private following = true

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly layout: LayoutClient,
    private readonly events: ViewEvents,
  ) {
    this.gestures = new Gestures(canvas, (gesture) => this.take(gesture))
  }

  close(): void {
    this.gestures.close()
    cancelAnimationFrame(this.request)
  }

  setScene(scene: Scene): void {
    this.scene = scene
    this.labelled.clear()
    this.draw()
  }

  setPalette(palette: Palette): void {
    if (palette.font !== this.palette?.font) this.widths.clear()
    this.palette = palette
    this.draw()
  }

  setSelected(ref: Ref | null): void {
    this.selected = ref
    this.draw()
  }

  /** No motion of the camera and no glow that spreads. */
  setStill(still: boolean): void {
    this.still = still
  }

  setSize(size: Size): void {
    if (size.width === this.size.width && size.height === this.size.height) return
    this.size = size
    const ratio = window.devicePixelRatio || 1
    this.canvas.width = Math.round(size.width * ratio)
    this.canvas.height = Math.round(size.height * ratio)
    // A canvas that was resized is empty: waiting for the next frame would let it blink.
    this.paint(performance.now())
  }

  /** Something moved: called by the layout. */
  moved(): void {
    this.draw()
  }

  /** Lets what changed glow for a moment. */
  flash(ids: Iterable<string>): void {
    const now = performance.now()
    for (const id of ids) this.flashes.set(id, now)
    this.draw()
  }

  /** Shows all, and keeps it in sight. */
  fit(): void {
    this.following = true
    this.travel = null
    this.draw()
  }

  zoom(factor: number): void {
    this.following = false
    this.go(zoomAt(this.aim, { x: this.size.width / 2, y: this.size.height / 2 }, factor))
  }

  scroll(dx: number, dy: number): void {
    this.following = false
    this.go(pan(this.aim, dx, dy))
  }

  /** Moves the camera as little as it takes to see a node. */
  reveal(id: string): void {
    const i = this.scene.place.get(id)
    const at = i === undefined ? null : placeOf(this.layout.positions, i)
    if (!at || this.following) return
    this.go(reveal(this.aim, at, this.size))
  }

  /** The node that the arrow keys lead to. */
  towards(way: Way): string | null {
    const { positions } = this.layout
    const from = this.selected?.kind === 'node' ? this.scene.place.get(this.selected.id) : undefined
    const middle = toWorld(this.camera, { x: this.size.width / 2, y: this.size.height / 2 })
    const i =
      from === undefined
        ? nearestNode(this.scene, positions, middle)
        : nodeTowards(this.scene, positions, from, way)
    return this.scene.nodes[i]?.id ?? null
  }

  /** Where the camera is, or is on its way to. */
  private get aim(): Camera {
    return this.travel?.to ?? this.camera
  }

  /** A step towards the camera that shows all: eased, so that a graph that unfolds does not make the picture jump. */
  private frameAll(): void {
    const bounds = boundsOf(this.layout.positions)
    if (!bounds) return
    const to = fit(bounds, this.size)
    const far = Math.abs(Math.log(to.k / this.camera.k)) > 1.2 || this.still
    if (far || near(this.camera, to)) this.camera = to
    else {
      this.camera = between(this.camera, to, 0.18)
      this.draw()
    }
  }

  private go(to: Camera): void {
    if (this.still) this.camera = to
    else this.travel = { from: this.camera, to, since: performance.now() }
    this.draw()
  }

  /** Draws at the next frame, once however often it is asked for. */
  private draw(): void {
    if (this.request !== 0) return
    this.request = requestAnimationFrame((now) => {
      this.request = 0
      this.paint(now)
    })
  }

  private paint(now: number): void {
    const ctx = this.canvas.getContext('2d')
    if (!ctx || !this.palette || this.size.width === 0) return
    this.step(now)
    if (this.following && !this.dragging && !this.travel) this.frameAll()
    const { scene } = this
    const nodePlace = (ref: Ref | null) => (ref?.kind === 'node' ? (scene.place.get(ref.id) ?? -1) : -1)
    const edgePlace = (ref: Ref | null) => (ref?.kind === 'edge' ? (scene.edgePlace.get(ref.id) ?? -1) : -1)
    paint(
      ctx,
      {
        scene,
        xy: this.layout.positions,
        camera: this.camera,
        size: this.size,
        palette: this.palette,
        hoveredNode: nodePlace(this.hovered),
        hoveredEdge: edgePlace(this.hovered),
        selectedNode: nodePlace(this.selected),
        selectedEdge: edgePlace(this.selected),
        pinned: this.layout.pinned,
        flashes: this.glow(now),
        labelled: this.labelled,
        widths: this.widths,
      },
      window.devicePixelRatio || 1,
    )
    if (this.travel || this.flashes.size > 0) this.draw()
  }

  /** Moves the camera on its way. */
  private step(now: number): void {
    if (!this.travel) return
    const { from, to, since } = this.travel
    const t = Math.min(1, Math.max(0, (now - since) / TRAVEL))
    this.camera = between(from, to, 1 - (1 - t) ** 3)
    if (t >= 1) this.travel = null
  }

  private glow(now: number): Map<string, number> {
    const left = new Map<string, number>()
    for (const [id, since] of this.flashes) {
      const rest = 1 - (now - since) / FLASH
      if (rest <= 0) this.flashes.delete(id)
      else left.set(id, this.still ? 1 : Math.min(1, rest))
    }
    return left
  }

  private refAt(at: Point, touch: boolean): Ref | null {
    const p = toWorld(this.camera, at)
    const { positions } = this.layout
    const slack = (touch ? TOUCH_SLACK : NODE_SLACK) / this.camera.k
    const node = this.scene.nodes[nodeAt(this.scene, positions, p, slack)]
    if (node) return { kind: 'node', id: node.id }
    const edge =
      this.scene.edges[edgeAt(this.scene, positions, p, (touch ? TOUCH_SLACK : EDGE_SLACK) / this.camera.k)]
    return edge ? { kind: 'edge', id: edge.id } : null
  }

  private take(gesture: Gesture): void {
    switch (gesture.type) {
      case 'hover':
        this.hover(gesture.at && this.refAt(gesture.at, false))
        break
      case 'press': {
        const ref = this.refAt(gesture.at, gesture.touch)
        this.dragging = ref?.kind === 'node' ? ref.id : null
        break
      }
      case 'drag':
        this.drag(gesture.at, gesture.dx, gesture.dy)
        break
      case 'release':
        this.dragging = null
        this.canvas.style.cursor = ''
        break
      case 'tap':
        this.events.onSelect(this.refAt(gesture.at, gesture.touch))
        break
      case 'double': {
        const ref = this.refAt(gesture.at, gesture.touch)
        if (ref?.kind === 'node') this.events.onOpen(ref.id)
        else if (!ref) this.zoomTo(gesture.at, 1.6, true)
        break
      }
      case 'menu': {
        // What can be done is said beside the canvas.
        const ref = this.refAt(gesture.at, gesture.touch)
        if (ref) this.events.onSelect(ref)
        break
      }
      case 'zoom':
        this.zoomTo(gesture.at, gesture.factor, false)
        if (gesture.dx || gesture.dy) this.camera = pan(this.camera, gesture.dx, gesture.dy)
        break
    }
  }

  private zoomTo(at: Point, factor: number, smooth: boolean): void {
    this.following = false
    if (smooth) this.go(zoomAt(this.aim, at, factor))
    else {
      this.camera = zoomAt(this.camera, at, factor)
      this.travel = null
      this.draw()
    }
  }

  private hover(ref: Ref | null): void {
    if (ref?.id === this.hovered?.id) return
    this.hovered = ref
    this.canvas.style.cursor = ref ? 'pointer' : ''
    this.draw()
  }

  private drag(at: Point, dx: number, dy: number): void {
    this.canvas.style.cursor = 'grabbing'
    if (this.dragging) {
      const to = toWorld(this.camera, at)
      this.layout.pin(this.dragging, to.x, to.y)
    } else {
      this.following = false
      this.travel = null
      this.camera = pan(this.camera, dx, dy)
    }
    this.draw()
  }
}

function near(a: Camera, b: Camera): boolean {
  return Math.abs(a.x - b.x) < 0.5 && Math.abs(a.y - b.y) < 0.5 && Math.abs(a.k - b.k) < 0.001 * b.k
}
