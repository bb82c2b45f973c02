// The canvas: draws only after a change, and translates gestures to events of the page.

import type { LayoutClient } from '../layout/client'
import type { Ref } from '../model/types'
import {
  interpolate,
  boundsOf,
  fit,
  pan,
  reveal,
  INITIAL_CAMERA,
  toWorld,
  zoomAt,
  type Camera,
  type Point,
  type Size,
} from './camera'
import { Gestures, type Gesture } from './gestures'
import { edgeAt, nearestNode, nodeAt, nodeTowards, positionOf, type ArrowDirection } from './hit'
import { paint } from './paint'
import type { Palette } from './palette'
import type { Scene } from './scene'

export interface ViewEvents {
  onSelect: (ref: Ref | null) => void
  /** A node was double-clicked. */
  onOpen: (id: string) => void
}

/** Milliseconds of the highlight of a change and of a camera move. */
const FLASH_MS = 1600
const CAMERA_MOVE_MS = 260
/** The tolerance of hit tests in pixels. */
const NODE_SLACK = 5
const TOUCH_SLACK = 14
const EDGE_SLACK = 5

const NO_SCENE: Scene = { nodes: [], edges: [], nodeIndex: new Map(), edgeIndex: new Map(), edgesOf: [] }

export class CanvasView {
  private scene = NO_SCENE
  private camera: Camera = INITIAL_CAMERA
  private size: Size = { width: 0, height: 0 }
  private palette: Palette | null = null
  private hovered: Ref | null = null
  private selected: Ref | null = null
  private dragging: string | null = null
  private cameraMove: { from: Camera; to: Camera; since: number } | null = null
  private readonly flashes = new Map<string, number>()
  private readonly labelled = new Set<number>()
  private readonly widths = new Map<string, number>()
  private readonly gestures: Gestures
  private request = 0
  private reducedMotion = false
  /** The camera fits the whole graph until the user moves it. */
  private autoFit = true

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly layout: LayoutClient,
    private readonly events: ViewEvents,
  ) {
    this.gestures = new Gestures(canvas, (gesture) => this.onGesture(gesture))
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

  /** Disables camera motion and fading highlights. */
  setReducedMotion(reducedMotion: boolean): void {
    this.reducedMotion = reducedMotion
  }

  setSize(size: Size): void {
    if (size.width === this.size.width && size.height === this.size.height) return
    this.size = size
    const ratio = window.devicePixelRatio || 1
    this.canvas.width = Math.round(size.width * ratio)
    this.canvas.height = Math.round(size.height * ratio)
    // Resizing clears the canvas: waiting for the next frame would make it flicker.
    this.paint(performance.now())
  }

  /** Called by the layout when positions changed. */
  onLayoutChange(): void {
    this.draw()
  }

  /** Highlights changed resources for a moment. */
  flash(ids: Iterable<string>): void {
    const now = performance.now()
    for (const id of ids) this.flashes.set(id, now)
    this.draw()
  }

  /** Fits the whole graph and keeps it fitted. */
  fit(): void {
    this.autoFit = true
    this.cameraMove = null
    this.draw()
  }

  zoom(factor: number): void {
    this.autoFit = false
    this.moveCamera(zoomAt(this.targetCamera, { x: this.size.width / 2, y: this.size.height / 2 }, factor))
  }

  scroll(dx: number, dy: number): void {
    this.autoFit = false
    this.moveCamera(pan(this.targetCamera, dx, dy))
  }

  /** Moves the camera by the minimum that makes a node visible. */
  reveal(id: string): void {
    const i = this.scene.nodeIndex.get(id)
    const at = i === undefined ? null : positionOf(this.layout.positions, i)
    if (!at || this.autoFit) return
    this.moveCamera(reveal(this.targetCamera, at, this.size))
  }

  /** Returns the node in the direction of an arrow key. */
  nodeTowards(direction: ArrowDirection): string | null {
    const { positions } = this.layout
    const from = this.selected?.kind === 'node' ? this.scene.nodeIndex.get(this.selected.id) : undefined
    const middle = toWorld(this.camera, { x: this.size.width / 2, y: this.size.height / 2 })
    const i =
      from === undefined
        ? nearestNode(this.scene, positions, middle)
        : nodeTowards(this.scene, positions, from, direction)
    return this.scene.nodes[i]?.id ?? null
  }

  /** The camera at the end of the current move. */
  private get targetCamera(): Camera {
    return this.cameraMove?.to ?? this.camera
  }

  /**
   * Moves the camera one step towards the fit. The motion is eased, so that the view does not jump while the graph
   * unfolds.
   */
  private stepTowardsFit(): void {
    const bounds = boundsOf(this.layout.positions)
    if (!bounds) return
    const target = fit(bounds, this.size)
    const jump = Math.abs(Math.log(target.k / this.camera.k)) > 1.2 || this.reducedMotion
    if (jump || isClose(this.camera, target)) this.camera = target
    else {
      this.camera = interpolate(this.camera, target, 0.18)
      this.draw()
    }
  }

  private moveCamera(to: Camera): void {
    if (this.reducedMotion) this.camera = to
    else this.cameraMove = { from: this.camera, to, since: performance.now() }
    this.draw()
  }

  /** Draws at the next frame. Several calls draw once. */
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
    if (this.autoFit && !this.dragging && !this.cameraMove) this.stepTowardsFit()
    const { scene } = this
    const nodeIndexOf = (ref: Ref | null) => (ref?.kind === 'node' ? (scene.nodeIndex.get(ref.id) ?? -1) : -1)
    const edgeIndexOf = (ref: Ref | null) => (ref?.kind === 'edge' ? (scene.edgeIndex.get(ref.id) ?? -1) : -1)
    paint(
      ctx,
      {
        scene,
        xy: this.layout.positions,
        camera: this.camera,
        size: this.size,
        palette: this.palette,
        hoveredNode: nodeIndexOf(this.hovered),
        hoveredEdge: edgeIndexOf(this.hovered),
        selectedNode: nodeIndexOf(this.selected),
        selectedEdge: edgeIndexOf(this.selected),
        pinned: this.layout.pinned,
        flashes: this.flashIntensities(now),
        labelled: this.labelled,
        widths: this.widths,
      },
      window.devicePixelRatio || 1,
    )
    if (this.cameraMove || this.flashes.size > 0) this.draw()
  }

  /** Advances the current camera move. */
  private step(now: number): void {
    if (!this.cameraMove) return
    const { from, to, since } = this.cameraMove
    const t = Math.min(1, Math.max(0, (now - since) / CAMERA_MOVE_MS))
    this.camera = interpolate(from, to, 1 - (1 - t) ** 3)
    if (t >= 1) this.cameraMove = null
  }

  private flashIntensities(now: number): Map<string, number> {
    const intensities = new Map<string, number>()
    for (const [id, since] of this.flashes) {
      const remaining = 1 - (now - since) / FLASH_MS
      if (remaining <= 0) this.flashes.delete(id)
      else intensities.set(id, this.reducedMotion ? 1 : Math.min(1, remaining))
    }
    return intensities
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

  private onGesture(gesture: Gesture): void {
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
        // The actions are listed beside the canvas.
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
    this.autoFit = false
    if (smooth) this.moveCamera(zoomAt(this.targetCamera, at, factor))
    else {
      this.camera = zoomAt(this.camera, at, factor)
      this.cameraMove = null
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
      this.autoFit = false
      this.cameraMove = null
      this.camera = pan(this.camera, dx, dy)
    }
    this.draw()
  }
}

function isClose(a: Camera, b: Camera): boolean {
  return Math.abs(a.x - b.x) < 0.5 && Math.abs(a.y - b.y) < 0.5 && Math.abs(a.k - b.k) < 0.001 * b.k
}
