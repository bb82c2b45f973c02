import { describe, expect, it } from 'vitest'

import {
  applyChange,
  EMPTY,
  incidenceOf,
  MAX_NODES,
  onlyNodes,
  DEFAULT_OPTIONS,
  withEdges,
  withNeighbors,
  withNodes,
  withoutNodes,
  type Canvas,
  type NeighborPage,
} from './canvas'
import { change, edge, node } from './fixtures'
import type { Step } from './types'

const canvasOf = (ids: string[], edges: [string, string][] = []): Canvas =>
  withEdges(
    withNodes(
      EMPTY,
      ids.map((id) => node(id)),
    ).canvas,
    edges.map(([a, b]) => edge(`${a}${b}`, a, b)),
  )

const page = (to: string[], from: string, more: Partial<NeighborPage> = {}): NeighborPage => ({
  options: DEFAULT_OPTIONS,
  neighbors: to.map((id) => ({ node: node(id), depth: 1, edges: [edge(`${from}${id}`, from, id)] })),
  found: to.length,
  edges: null,
  truncated: false,
  cursor: null,
  ...more,
})

describe('adding to the canvas', () => {
  it('keeps the newer version of a node regardless of the order of arrival', () => {
    const newer = withNodes(EMPTY, [node('a', { version: 3, name: 'new' })]).canvas
    const { canvas } = withNodes(newer, [node('a', { version: 2, name: 'old' })])
    expect(canvas).toBe(newer)
    expect(
      withNodes(newer, [node('a', { version: 4, name: 'newest' })]).canvas.nodes.get('a')?.node.name,
    ).toBe('newest')
  })

  it('ignores an edge without both nodes', () => {
    const canvas = canvasOf(['a', 'b'])
    expect(withEdges(canvas, [edge('ac', 'a', 'c')])).toBe(canvas)
  })

  it('limits the number of nodes and reports how many are skipped', () => {
    const many = Array.from({ length: MAX_NODES + 5 }, (_, i) => node(`n${i}`))
    const { canvas, skipped } = withNodes(EMPTY, many)
    expect(canvas.nodes.size).toBe(MAX_NODES)
    expect(skipped).toBe(5)
    // Nodes on the canvas are replaced even when it is full.
    expect(withNodes(canvas, [node('n0', { version: 2 })]).skipped).toBe(0)
  })
})

describe('removing from the canvas', () => {
  it('removes the edges of a node as well', () => {
    const canvas = withoutNodes(
      canvasOf(
        ['a', 'b', 'c'],
        [
          ['a', 'b'],
          ['b', 'c'],
          ['a', 'c'],
        ],
      ),
      ['b'],
    )
    expect([...canvas.nodes.keys()]).toEqual(['a', 'c'])
    expect([...canvas.edges.keys()]).toEqual(['ac'])
  })

  it('keeps only the given nodes', () => {
    expect([...onlyNodes(canvasOf(['a', 'b', 'c']), ['c', 'x']).nodes.keys()]).toEqual(['c'])
  })
})

describe('merging an expansion', () => {
  it('adds neighbours with their edges and stores the progress', () => {
    const { canvas } = withNeighbors(
      canvasOf(['a']),
      'a',
      page(['b', 'c'], 'a', { found: 7, cursor: 'next' }),
    )
    expect([...canvas.edges.keys()]).toEqual(['ab', 'ac'])
    expect(canvas.nodes.get('a')?.expansion).toMatchObject({
      fetched: 2,
      found: 7,
      cursor: 'next',
      truncated: false,
    })
  })

  it('adds the count of a second page', () => {
    const first = withNeighbors(
      canvasOf(['a']),
      'a',
      page(['b', 'c'], 'a', { found: 3, cursor: 'next' }),
    ).canvas
    const second = withNeighbors(first, 'a', page(['d'], 'a', { found: 3 })).canvas
    expect(second.nodes.get('a')?.expansion).toMatchObject({ fetched: 3, cursor: null })
  })

  it('resets the count when the options change or the request is repeated', () => {
    const first = withNeighbors(canvasOf(['a']), 'a', page(['b', 'c'], 'a')).canvas
    const again = withNeighbors(first, 'a', page(['b', 'c'], 'a')).canvas
    expect(again.nodes.get('a')?.expansion?.fetched).toBe(2)
    const out = withNeighbors(
      again,
      'a',
      page(['b'], 'a', { options: { ...DEFAULT_OPTIONS, direction: 'out' } }),
    ).canvas
    expect(out.nodes.get('a')?.expansion?.fetched).toBe(1)
  })

  it('keeps the edge count of a hub across pages', () => {
    const hub = { truncated: true, found: 2000, cursor: 'next' }
    const first = withNeighbors(canvasOf(['a']), 'a', page(['b'], 'a', { ...hub, edges: 100_000 })).canvas
    const second = withNeighbors(first, 'a', page(['c'], 'a', hub)).canvas
    expect(second.nodes.get('a')?.expansion).toMatchObject({ fetched: 2, edges: 100_000, truncated: true })
  })

  it('adds nearer nodes first when the canvas is almost full, and does not advance the cursor', () => {
    const full = withNodes(
      canvasOf(['a']),
      Array.from({ length: MAX_NODES - 2 }, (_, i) => node(`n${i}`)),
    ).canvas
    const { canvas, skipped } = withNeighbors(full, 'a', {
      ...page([], 'a'),
      neighbors: [
        { node: node('far'), depth: 2, edges: [edge('nf', 'near', 'far')] },
        { node: node('near'), depth: 1, edges: [edge('an', 'a', 'near')] },
      ],
      found: 2,
      cursor: 'next',
    })
    expect(skipped).toBe(1)
    expect(canvas.nodes.has('near')).toBe(true)
    expect(canvas.nodes.has('far')).toBe(false)
    expect(canvas.nodes.get('a')?.expansion).toMatchObject({ fetched: 1, cursor: null })
  })

  it('resets the unseen count once all neighbours are requested', () => {
    const before = applyChange(canvasOf(['a']), change({ edge: edge('ax', 'a', 'x') })).canvas
    expect(before.nodes.get('a')?.unseen).toBe(1)
    expect(withNeighbors(before, 'a', page(['x'], 'a')).canvas.nodes.get('a')?.unseen).toBe(0)
    const narrow = page(['x'], 'a', { options: { ...DEFAULT_OPTIONS, direction: 'out' } })
    expect(withNeighbors(before, 'a', narrow).canvas.nodes.get('a')?.unseen).toBe(1)
  })
})

describe('applying changes', () => {
  const expanded = (more: Partial<NeighborPage> = {}) =>
    withNeighbors(canvasOf(['a']), 'a', page(['b'], 'a', more)).canvas
  const arrival = (from = 'a', to = 'new'): Step[] => [
    { type: 'CREATE_NODE', node: node('new') },
    { type: 'CREATE_EDGE', edge: edge('an', from, to) },
  ]

  it('updates nodes on the canvas and ignores others', () => {
    const canvas = canvasOf(['a'])
    const { canvas: after, touched } = applyChange(
      canvas,
      change({ node: node('a', { version: 2, name: 'other' }) }),
    )
    expect(after.nodes.get('a')?.node.name).toBe('other')
    expect(touched).toEqual(['a'])
    expect(applyChange(canvas, change({ node: node('z') })).canvas).toBe(canvas)
  })

  it('removes deleted nodes and edges', () => {
    const canvas = canvasOf(['a', 'b'], [['a', 'b']])
    const gone = applyChange(
      canvas,
      change({ node: node('b', { version: 2, deleted: true }), type: 'DELETE_NODE' }),
    ).canvas
    expect(gone.nodes.has('b')).toBe(false)
    expect(gone.edges.size).toBe(0)
    const cut = applyChange(
      canvas,
      change({ edge: { ...edge('ab', 'a', 'b'), version: 2, deleted: true } }),
    ).canvas
    expect(cut.edges.size).toBe(0)
    expect(cut.nodes.size).toBe(2)
  })

  it('adds a new neighbour if all neighbours are shown', () => {
    const { canvas, touched } = applyChange(expanded(), change({ steps: arrival() }))
    expect(canvas.nodes.has('new')).toBe(true)
    expect(canvas.edges.has('an')).toBe(true)
    expect(touched).toEqual(['new', 'an'])
  })

  it.each([
    ['was not expanded', canvasOf(['a'])],
    ['is a hub that is shown in part', expanded({ truncated: true })],
    ['has more pages', expanded({ cursor: 'next' })],
    ['was expanded in the other direction', expanded({ options: { ...DEFAULT_OPTIONS, direction: 'in' } })],
    [
      'was expanded along other relations',
      expanded({ options: { ...DEFAULT_OPTIONS, relationTypes: ['other'] } }),
    ],
  ])('counts a new neighbour as unseen if the node %s', (_, canvas) => {
    const { canvas: after } = applyChange(canvas, change({ steps: arrival() }))
    expect(after.nodes.has('new')).toBe(false)
    expect(after.nodes.get('a')?.unseen).toBe(1)
  })

  it('always shows nodes that the user created', () => {
    const { canvas } = applyChange(canvasOf(['a']), change({ node: node('mine') }), (id) => id === 'mine')
    expect(canvas.nodes.has('mine')).toBe(true)
  })

  it('requests the edges of a node that was restored with its edges', () => {
    const step = { node: node('a', { version: 3 }), cascade: { restored: true, count: 4, edges: [] } }
    expect(applyChange(canvasOf(['a']), change({ ...step, type: 'UNDO' })).reconnect).toEqual(['a'])
  })

  it('ignores a change that is already applied', () => {
    const update = change({ node: node('a', { version: 2 }) })
    const once = applyChange(canvasOf(['a']), update).canvas
    expect(applyChange(once, update)).toEqual({ canvas: once, touched: [], reconnect: [] })
  })
})

describe('incident edges', () => {
  it('contain each edge at both nodes, and a loop once', () => {
    const incidence = incidenceOf(
      canvasOf(
        ['a', 'b'],
        [
          ['a', 'b'],
          ['a', 'a'],
        ],
      ),
    )
    expect(incidence.get('a')?.map(({ otherId, out }) => [otherId, out])).toEqual([
      ['b', true],
      ['a', true],
    ])
    expect(incidence.get('b')?.map(({ otherId, out }) => [otherId, out])).toEqual([['a', false]])
  })
})
