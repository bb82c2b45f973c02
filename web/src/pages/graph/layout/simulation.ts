// Computes the positions of nodes: a force simulation that its owner steps. It uses no canvas and no clock, so it runs in
// a worker as well as in a test. The same graph in the same order has the same result.

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

/** A node as the layout sees it. Lengths are in units of the canvas: pixels at zoom 1. */
export interface Body {
  id: string
  radius: number
  /** Where it is first put; without, near its neighbours. */
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

/** Below this heat nothing moves visibly any more. */
const COLD = 0.004
/** What heat a change of the graph brings: enough to find room, not so much that all is thrown about. */
const REHEAT = 0.3
const DRAG_HEAT = 0.25
/** The golden angle, by which points in a spiral keep away from each other. */
const GOLDEN = Math.PI * (3 - Math.sqrt(5))
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
      .alphaMin(COLD)
      .alphaDecay(0.028)
      .velocityDecay(0.36)
      .force('charge', forceManyBody<Point>().strength(-240).theta(0.95).distanceMax(420))
      .force('links', this.links)
      .force('room', forceCollide<Point>((p) => p.radius + 7).strength(0.7))
      .force('x', this.middleX)
      .force('y', this.middleY)
    this.forces.alpha(0)
  }

  /** Replaces the graph. What is known by its id stays where it is. */
  setGraph(bodies: readonly Body[], springs: readonly Spring[]): void {
    const before = this.points
    this.points = new Map()
    this.list = []
    const homeless: Point[] = []
    for (const body of bodies) {
      let point = before.get(body.id)
      if (point) point.radius = body.radius
      else {
        point = { id: body.id, radius: body.radius, x: body.x ?? NaN, y: body.y ?? NaN }
        if (body.x === undefined || body.y === undefined) homeless.push(point)
      }
      this.points.set(body.id, point)
      this.list.push(point)
    }
    const known = springs.filter((s) => this.points.has(s.source) && this.points.has(s.target))
    this.house(homeless, known)
    const degree = new Map<string, number>()
    for (const { source, target } of known) {
      degree.set(source, (degree.get(source) ?? 0) + 1)
      degree.set(target, (degree.get(target) ?? 0) + 1)
    }
    this.links.links([])
    // What hangs on nothing would be driven far away, and everything else made small to have it in sight.
    const pull = (p: Point) => (degree.has(p.id) ? 1 : 4)
    this.middleX.strength((p) => 0.06 * pull(p))
    this.middleY.strength((p) => 0.08 * pull(p))
    this.forces.nodes(this.list)
    const springy = known.filter((s) => s.source !== s.target).map((s) => ({ ...s }))
    const least = (s: Spring) => Math.min(degree.get(s.source) ?? 1, degree.get(s.target) ?? 1)
    const ends = new Map(springy.map((s) => [s, least(s)]))
    this.links
      .id((p) => p.id)
      .links(springy)
      .distance((l) => 46 + 9 * Math.sqrt(ends.get(l as unknown as Spring) ?? 1))
      .strength((l) => 0.85 / (ends.get(l as unknown as Spring) ?? 1))
    this.heat(before.size === 0 ? 1 : REHEAT)
  }

  /** Places nodes without a position next to a neighbor, or in a spiral around the centre. */
  private house(homeless: Point[], springs: readonly Spring[]): void {
    if (homeless.length === 0) return
    const neighbours = neighboursOf(springs)
    const around = new Map<string, number>()
    let waiting = homeless
    while (waiting.length > 0) {
      const next: Point[] = []
      for (const point of waiting) {
        const anchor = neighbours
          .get(point.id)
          ?.map((id) => this.points.get(id))
          .find((p) => p && Number.isFinite(p.x))
        if (!anchor) next.push(point)
        else this.place(point, anchor, around)
      }
      const first = next.length === waiting.length ? next.shift() : undefined
      if (first) this.place(first, { id: '', x: 0, y: 0 }, around)
      waiting = next
    }
  }

  private place(point: Point, at: { id: string; x: number; y: number }, around: Map<string, number>): void {
    const nth = (around.get(at.id) ?? 0) + 1
    around.set(at.id, nth)
    const distance = SPACING * Math.sqrt(nth)
    point.x = at.x + distance * Math.cos(nth * GOLDEN)
    point.y = at.y + distance * Math.sin(nth * GOLDEN)
  }

  /** Holds a node at a place, until it is let go. */
  pin(id: string, x: number, y: number): void {
    const point = this.points.get(id)
    if (!point) return
    point.fx = x
    point.fy = y
    this.dragged.add(id)
    this.heat(DRAG_HEAT)
  }

  /** Lets a node go, or all. */
  unpin(id?: string): void {
    for (const point of id === undefined ? this.list : [this.points.get(id)]) {
      if (!point) continue
      point.fx = null
      point.fy = null
    }
    if (id === undefined) this.dragged.clear()
    else this.dragged.delete(id)
    this.heat(DRAG_HEAT)
  }

  /** Warms it up at least so far. */
  heat(alpha: number): void {
    this.forces.alpha(Math.max(this.forces.alpha(), alpha))
  }

  get warm(): boolean {
    return this.forces.alpha() >= COLD && this.list.length > 0
  }

  /** One step; false: it is cold, nothing moves any more. */
  step(): boolean {
    if (!this.warm) return false
    this.forces.tick()
    return this.warm
  }

  /** Steps until it is cold, at most so many times. */
  settle(most = 400): void {
    for (let i = 0; i < most && this.step(); i++);
  }

  /** x and y of each node in the order of the last setGraph. */
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
  const note = (a: string, b: string) => {
    const list = neighbours.get(a)
    if (list) list.push(b)
    else neighbours.set(a, [b])
  }
  for (const { source, target } of springs) {
    note(source, target)
    note(target, source)
  }
  return neighbours
}
