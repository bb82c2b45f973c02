// Computes the positions of nodes by a force simulation that the caller steps. It uses no canvas and no clock, so it
// runs in a worker and in tests. It is deterministic: the same graph in the same order has the same result.

import {
  forceCollide,
  forceLink,
  forceManyBody,
  forceSimulation,
  forceX,
  forceY,
  type Simulation as Forces,
  type SimulationLinkDatum,
  type SimulationNodeDatum,
} from 'd3-force'

/** A node of the layout. Lengths are in canvas units: pixels at zoom 1. */
export interface Body {
  id: string
  radius: number
  /** The initial position; by default near its neighbours. */
  x?: number
  y?: number
}

export interface Spring {
  source: string
  target: string
}

interface Point extends SimulationNodeDatum {
  id: string
  radius: number
  x: number
  y: number
}

/** Below this alpha no movement is visible. */
const MIN_ALPHA = 0.004
/** The alpha after a change of the graph: enough to make space, too little to rearrange all nodes. */
const REHEAT_ALPHA = 0.3
const DRAG_ALPHA = 0.25
/** The golden angle, which spreads the points of a spiral evenly. */
const GOLDEN_ANGLE = Math.PI * (3 - Math.sqrt(5))
const SPACING = 34

export class Simulation {
  private readonly forces: Forces<Point, SimulationLinkDatum<Point>>
  private readonly links = forceLink<Point, SimulationLinkDatum<Point>>()
  private readonly middleX = forceX<Point>(0)
  private readonly middleY = forceY<Point>(0)
  private points = new Map<string, Point>()
  private list: Point[] = []
  private dragged = new Set<string>()

  constructor() {
    this.forces = forceSimulation<Point, SimulationLinkDatum<Point>>([])
      .stop()
      .alphaMin(MIN_ALPHA)
      .alphaDecay(0.028)
      .velocityDecay(0.36)
      .force('charge', forceManyBody<Point>().strength(-240).theta(0.95).distanceMax(420))
      .force('links', this.links)
      .force('room', forceCollide<Point>((p) => p.radius + 7).strength(0.7))
      .force('x', this.middleX)
      .force('y', this.middleY)
    this.forces.alpha(0)
  }

  /** Replaces the graph. Nodes with a known id keep their positions. */
  setGraph(bodies: readonly Body[], springs: readonly Spring[]): void {
    const before = this.points
    this.points = new Map()
    this.list = []
    const unplaced: Point[] = []
    for (const body of bodies) {
      let point = before.get(body.id)
      if (point) point.radius = body.radius
      else {
        point = { id: body.id, radius: body.radius, x: body.x ?? NaN, y: body.y ?? NaN }
        if (body.x === undefined || body.y === undefined) unplaced.push(point)
      }
      this.points.set(body.id, point)
      this.list.push(point)
    }
    const known = springs.filter((s) => this.points.has(s.source) && this.points.has(s.target))
    this.placeNew(unplaced, known)
    const degree = new Map<string, number>()
    for (const { source, target } of known) {
      degree.set(source, (degree.get(source) ?? 0) + 1)
      degree.set(target, (degree.get(target) ?? 0) + 1)
    }
    this.links.links([])
    // Unconnected nodes would drift far away, and fitting the view would make everything else small.
    const pull = (p: Point) => (degree.has(p.id) ? 1 : 4)
    this.middleX.strength((p) => 0.06 * pull(p))
    this.middleY.strength((p) => 0.08 * pull(p))
    this.forces.nodes(this.list)
    const springy = known.filter((s) => s.source !== s.target).map((s) => ({ ...s }))
    const minDegree = (s: Spring) => Math.min(degree.get(s.source) ?? 1, degree.get(s.target) ?? 1)
    const ends = new Map(springy.map((s) => [s, minDegree(s)]))
    this.links
      .id((p) => p.id)
      .links(springy)
      .distance((l) => 46 + 9 * Math.sqrt(ends.get(l as unknown as Spring) ?? 1))
      .strength((l) => 0.85 / (ends.get(l as unknown as Spring) ?? 1))
    this.reheat(before.size === 0 ? 1 : REHEAT_ALPHA)
  }

  /** Places nodes without a position next to a neighbour, or in a spiral around the centre. */
  private placeNew(unplaced: Point[], springs: readonly Spring[]): void {
    if (unplaced.length === 0) return
    const neighbours = neighboursOf(springs)
    const around = new Map<string, number>()
    let pending = unplaced
    while (pending.length > 0) {
      const next: Point[] = []
      for (const point of pending) {
        const anchor = neighbours
          .get(point.id)
          ?.map((id) => this.points.get(id))
          .find((p) => p && Number.isFinite(p.x))
        if (!anchor) next.push(point)
        else this.place(point, anchor, around)
      }
      const first = next.length === pending.length ? next.shift() : undefined
      if (first) this.place(first, { id: '', x: 0, y: 0 }, around)
      pending = next
    }
  }

  private place(point: Point, at: { id: string; x: number; y: number }, around: Map<string, number>): void {
    const nth = (around.get(at.id) ?? 0) + 1
    around.set(at.id, nth)
    const distance = SPACING * Math.sqrt(nth)
    point.x = at.x + distance * Math.cos(nth * GOLDEN_ANGLE)
    point.y = at.y + distance * Math.sin(nth * GOLDEN_ANGLE)
  }

  /** Fixes a node at a position until it is unpinned. */
  pin(id: string, x: number, y: number): void {
    const point = this.points.get(id)
    if (!point) return
    point.fx = x
    point.fy = y
    this.dragged.add(id)
    this.reheat(DRAG_ALPHA)
  }

  /** Releases a node; without an id all nodes. */
  unpin(id?: string): void {
    for (const point of id === undefined ? this.list : [this.points.get(id)]) {
      if (!point) continue
      point.fx = null
      point.fy = null
    }
    if (id === undefined) this.dragged.clear()
    else this.dragged.delete(id)
    this.reheat(DRAG_ALPHA)
  }

  /** Raises alpha to at least this value. */
  reheat(alpha: number): void {
    this.forces.alpha(Math.max(this.forces.alpha(), alpha))
  }

  get isActive(): boolean {
    return this.forces.alpha() >= MIN_ALPHA && this.list.length > 0
  }

  /** Computes one step. Returns false if the simulation has ended. */
  step(): boolean {
    if (!this.isActive) return false
    this.forces.tick()
    return this.isActive
  }

  /** Steps until the simulation ends, at most `maxSteps` times. */
  settle(maxSteps = 400): void {
    for (let i = 0; i < maxSteps && this.step(); i++);
  }

  /** Returns the x and y coordinates of each node in the order of the last setGraph. */
  positions(): Float32Array<ArrayBuffer> {
    const xy = new Float32Array(this.list.length * 2)
    this.list.forEach((point, i) => {
      xy[2 * i] = point.x
      xy[2 * i + 1] = point.y
    })
    return xy
  }
}

function neighboursOf(springs: readonly Spring[]): Map<string, string[]> {
  const neighbours = new Map<string, string[]>()
  const add = (a: string, b: string) => {
    const list = neighbours.get(a)
    if (list) list.push(b)
    else neighbours.set(a, [b])
  }
  for (const { source, target } of springs) {
    add(source, target)
    add(target, source)
  }
  return neighbours
}
