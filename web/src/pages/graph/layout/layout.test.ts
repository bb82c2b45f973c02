import { describe, expect, it } from 'vitest'

import { LayoutClient } from './client'
import { LayoutHost } from './host'
import type { FromLayout, ToLayout } from './protocol'
import { Simulation } from './simulation'

const bodies = (...ids: string[]) => ids.map((id) => ({ id, radius: 8 }))
const at = (xy: Float32Array, i: number) => ({ x: xy[2 * i] ?? NaN, y: xy[2 * i + 1] ?? NaN })
const apart = (xy: Float32Array, i: number, j: number) => {
  const [a, b] = [at(xy, i), at(xy, j)]
  return Math.hypot(a.x - b.x, a.y - b.y)
}

describe('the simulation', () => {
  it('settles with neighbours closer than other nodes and without overlaps', () => {
    const simulation = new Simulation()
    simulation.setGraph(bodies('a', 'b', 'c', 'd'), [
      { source: 'a', target: 'b' },
      { source: 'c', target: 'd' },
    ])
    simulation.settle()
    expect(simulation.isActive).toBe(false)
    expect(simulation.step()).toBe(false)
    const xy = simulation.positions()
    expect(apart(xy, 0, 1)).toBeLessThan(apart(xy, 0, 2))
    for (let i = 0; i < 4; i++) for (let j = 0; j < i; j++) expect(apart(xy, i, j)).toBeGreaterThan(16)
  })

  it('is deterministic', () => {
    const run = () => {
      const simulation = new Simulation()
      simulation.setGraph(bodies('a', 'b', 'c'), [{ source: 'a', target: 'b' }])
      simulation.settle()
      return [...simulation.positions()]
    }
    expect(run()).toEqual(run())
  })

  it('places new nodes beside their neighbours and does not move existing nodes', () => {
    const simulation = new Simulation()
    simulation.setGraph([{ id: 'a', radius: 8, x: 500, y: 300 }], [])
    simulation.setGraph(bodies('a', 'b', 'c'), [
      { source: 'b', target: 'c' },
      { source: 'a', target: 'b' },
    ])
    const xy = simulation.positions()
    expect(at(xy, 0)).toEqual({ x: 500, y: 300 })
    expect(apart(xy, 0, 1)).toBeLessThan(60)
    expect(apart(xy, 1, 2)).toBeLessThan(60)
  })

  it('pins and unpins a node', () => {
    const simulation = new Simulation()
    simulation.setGraph(bodies('a', 'b'), [{ source: 'a', target: 'b' }])
    simulation.pin('a', 900, -900)
    simulation.settle()
    expect(at(simulation.positions(), 0)).toEqual({ x: 900, y: -900 })
    simulation.unpin('a')
    simulation.settle()
    expect(Math.hypot(...simulation.positions().slice(0, 2))).toBeLessThan(900)
  })

  it('accepts loops, parallel edges and edges to missing nodes', () => {
    const simulation = new Simulation()
    const ab = { source: 'a', target: 'b' }
    simulation.setGraph(bodies('a', 'b'), [
      ab,
      ab,
      { source: 'a', target: 'a' },
      { source: 'a', target: 'gone' },
    ])
    simulation.settle()
    simulation.setGraph(bodies('b'), [ab])
    simulation.settle()
    expect([...simulation.positions()].every(Number.isFinite)).toBe(true)
  })

  it('is inactive without nodes', () => {
    const simulation = new Simulation()
    simulation.setGraph([], [])
    expect(simulation.step()).toBe(false)
  })
})

/** Returns a host with a manual clock. */
function fixture() {
  const sent: FromLayout[] = []
  const due: (() => void)[] = []
  const host = new LayoutHost(
    (message) => sent.push(message),
    (call) => due.push(call),
  )
  return { host, sent, turn: () => due.splice(0).forEach((call) => call()) }
}

describe('the layout host', () => {
  it('sends new positions only after the client has received the last ones', () => {
    const { host, sent, turn } = fixture()
    host.onMessage({ type: 'graph', generation: 1, bodies: bodies('a', 'b'), springs: [] })
    turn()
    turn()
    expect(sent.length).toBe(1)
    host.onMessage({ type: 'ready' })
    turn()
    expect(sent.length).toBe(2)
  })

  it('sends nothing while nodes do not move', () => {
    const { host, sent, turn } = fixture()
    host.onMessage({ type: 'motion', reducedMotion: true })
    host.onMessage({ type: 'graph', generation: 1, bodies: bodies('a', 'b'), springs: [] })
    turn()
    expect(sent.at(-1)?.moving).toBe(false)
    host.onMessage({ type: 'ready' })
    turn()
    expect(sent.length).toBe(1)
    host.onMessage({ type: 'restart' })
    turn()
    expect(sent.length).toBe(2)
  })

  it('reports positions of new nodes while it is stopped', () => {
    const { host, sent, turn } = fixture()
    host.onMessage({ type: 'run', running: false })
    host.onMessage({ type: 'graph', generation: 7, bodies: bodies('a'), springs: [] })
    turn()
    expect(sent).toHaveLength(1)
    expect(sent[0]).toMatchObject({ generation: 7, moving: false })
  })
})

describe('the layout client', () => {
  function page() {
    const posted: ToLayout[] = []
    let hear: (message: FromLayout) => void = () => undefined
    let moves = 0
    const client = new LayoutClient(
      {
        post: (message) => posted.push(message),
        listen: (listener) => (hear = listener),
        close: () => undefined,
      },
      () => moves++,
    )
    return { client, posted, hear: (message: FromLayout) => hear(message), moves: () => moves }
  }

  it('ignores positions of a previous graph but requests the next ones', () => {
    const { client, posted, hear, moves } = page()
    client.setGraph(['a'], bodies('a'), [])
    client.setGraph(['b'], bodies('b'), [])
    hear({ generation: 1, xy: new Float32Array([1, 2]), moving: true })
    expect(moves()).toBe(0)
    expect(posted.at(-1)).toEqual({ type: 'ready' })
    hear({ generation: 2, xy: new Float32Array([3, 4]), moving: false })
    expect([...client.positions]).toEqual([3, 4])
  })

  it('keeps a dragged node at the pointer regardless of the worker', () => {
    const { client, hear } = page()
    client.setGraph(['a'], bodies('a'), [])
    client.pin('a', 10, 20)
    hear({ generation: 1, xy: new Float32Array([1, 2]), moving: true })
    expect([...client.positions]).toEqual([10, 20])
    client.unpin('a')
    hear({ generation: 1, xy: new Float32Array([1, 2]), moving: true })
    expect([...client.positions]).toEqual([1, 2])
  })

  it('keeps the positions of remaining nodes when the graph changes', () => {
    const { client, hear } = page()
    client.setGraph(['a', 'b'], bodies('a', 'b'), [])
    hear({ generation: 1, xy: new Float32Array([1, 2, 3, 4]), moving: true })
    client.setGraph(['b', 'c'], bodies('b', 'c'), [])
    expect([...client.positions]).toEqual([3, 4, NaN, NaN])
  })
})
