import { describe, expect, it } from 'vitest'

import type { List } from '@/api'

import { change, edge, node } from '../model/fixtures'
import type { CommandResult, GraphEdge, GraphNode } from '../model/types'
import { Explorer } from './explorer'
import { filterQuery, NO_FILTER, edgeQueries, type GraphSource } from './source'

function page<T>(data: T[], more: Partial<List<T>['meta']> = {}): List<T> {
  return {
    data,
    meta: { total: data.length, limit: 100, offset: 0, hasMore: false, nextCursor: null, ...more },
  }
}

/** Returns a source in which a hub has many neighbours. */
function fixture(more: Partial<GraphSource> = {}): GraphSource & { asked: string[] } {
  const asked: string[] = []
  const edges: GraphEdge[] = [edge('ab', 'a', 'b'), edge('bc', 'b', 'c')]
  const refuse = () => Promise.reject(new Error('not asked for in this test'))
  return {
    asked,
    find: () => Promise.resolve(page([node('a'), node('b')])),
    nodes: (ids) => Promise.resolve(ids.map((id) => node(id))),
    node: refuse,
    edge: refuse,
    neighbors: (id) => {
      asked.push(`neighbors ${id}`)
      return Promise.resolve(page([{ node: node('c'), depth: 1, edges: [edge('bc', 'b', 'c')] }]))
    },
    edgesBetween: (some, all) => {
      asked.push(`between ${some.join()}`)
      return Promise.resolve(edges.filter((e) => all.includes(e.sourceId) && all.includes(e.targetId)))
    },
    edgesOf: () => Promise.resolve(page<GraphEdge>([], { total: 100_000 })),
    history: refuse,
    head: () => Promise.resolve(0),
    execute: refuse,
    ...more,
  }
}

const shown = (explorer: Explorer) => {
  const { canvas } = explorer.snapshot()
  return { nodes: [...canvas.nodes.keys()].sort().join(''), edges: [...canvas.edges.keys()].sort().join(' ') }
}

const result = (more: Partial<CommandResult>): CommandResult => ({
  commandId: 'c',
  type: 'UPDATE_NODE',
  status: 'applied',
  affected: { nodes: [], edges: [], counts: { nodes: 0, edges: 0 } },
  undoDepth: 1,
  redoDepth: 0,
  sequence: 1,
  ...more,
})

const settled = () => new Promise((resolve) => setTimeout(resolve))

describe('the explorer', () => {
  it('starts with the first nodes of a workspace and the edges between them', async () => {
    const explorer = new Explorer(fixture())
    await explorer.start([])
    expect(shown(explorer)).toEqual({ nodes: 'ab', edges: 'ab' })
    expect(explorer.snapshot()).toMatchObject({ starting: false, error: null, selected: null })
  })

  it('starts with the nodes in the URL and selects the first', async () => {
    const explorer = new Explorer(fixture())
    await explorer.start(['c', 'b'])
    expect(shown(explorer)).toEqual({ nodes: 'bc', edges: 'bc' })
    expect(explorer.snapshot().selected).toEqual({ kind: 'node', id: 'c' })
  })

  it('expands a node and requests the edges between the new nodes', async () => {
    const source = fixture()
    const explorer = new Explorer(source)
    await explorer.start([])
    const work = explorer.expand('b')
    expect(explorer.snapshot().expanding.has('b')).toBe(true)
    await work
    expect(shown(explorer)).toEqual({ nodes: 'abc', edges: 'ab bc' })
    expect(explorer.snapshot().expanding.size).toBe(0)
    expect(source.asked.at(-1)).toBe('between c')
  })

  it('counts the edges of a hub that is expanded only in part', async () => {
    const neighbors = () =>
      Promise.resolve(
        page([{ node: node('x'), depth: 1, edges: [edge('bx', 'b', 'x')] }], {
          total: 2000,
          truncated: true,
          nextCursor: 'n',
        }),
      )
    const explorer = new Explorer(fixture({ neighbors }))
    await explorer.start([])
    await explorer.expand('b')
    expect(explorer.snapshot().canvas.nodes.get('b')?.expansion).toMatchObject({
      edges: 100_000,
      truncated: true,
      fetched: 1,
    })
  })

  it('keeps the last error until a request succeeds', async () => {
    const explorer = new Explorer(fixture({ neighbors: () => Promise.reject(new Error('away')) }))
    await explorer.start([])
    await explorer.expand('b')
    expect(explorer.snapshot().error).toEqual(new Error('away'))
    expect(explorer.snapshot().expanding.size).toBe(0)
    await explorer.add([node('z')])
    expect(explorer.snapshot().error).toBeNull()
  })

  it('ignores responses after it is closed', async () => {
    let answer: (list: List<GraphNode>) => void = () => undefined
    const explorer = new Explorer(fixture({ find: () => new Promise((resolve) => (answer = resolve)) }))
    const work = explorer.start([])
    explorer.close()
    answer(page([node('a')]))
    await work
    expect(shown(explorer).nodes).toBe('')
  })

  it('clears the selection when the selected item is removed', async () => {
    const explorer = new Explorer(fixture())
    await explorer.start([])
    explorer.select({ kind: 'edge', id: 'ab' })
    explorer.onChange(change({ type: 'DELETE_NODE', node: node('b', { version: 2, deleted: true }) }))
    expect(explorer.snapshot().selected).toBeNull()
    expect(shown(explorer)).toEqual({ nodes: 'a', edges: '' })
  })

  it('shows nodes that the user created, and restored nodes with their edges', async () => {
    const explorer = new Explorer(fixture())
    await explorer.start([])
    explorer.applyResult(result({ type: 'CREATE_NODE', node: node('new') }))
    expect(shown(explorer).nodes).toBe('abnew')
    explorer.remove(['new'])
    const affected = { nodes: ['c'], edges: ['bc'], counts: { nodes: 1, edges: 1 } }
    explorer.applyResult(result({ type: 'UNDO', node: node('c', { version: 3 }), affected }))
    await settled()
    expect(shown(explorer)).toEqual({ nodes: 'abc', edges: 'ab bc' })
  })

  it('keeps the changes of the stream, newest first', async () => {
    const explorer = new Explorer(fixture())
    await explorer.start([])
    for (const sequence of [4, 5, 5]) explorer.onChange(change({ sequence }))
    expect(explorer.snapshot().recent.map((item) => item.sequence)).toEqual([5, 4])
  })
})

describe('queries', () => {
  it('cover each pair of nodes in both directions, in batches', () => {
    const all = Array.from({ length: 230 }, (_, i) => `n${i}`)
    const some = all.slice(0, 120)
    const asked = edgeQueries(some, all)
    const covered = (a: string, b: string) =>
      asked.some((q) => q.sourceId.includes(a) && q.targetId.includes(b))
    for (const [a, b] of [
      ['n0', 'n1'],
      ['n119', 'n0'],
      ['n0', 'n229'],
      ['n229', 'n119'],
      ['n110', 'n150'],
    ] as const) {
      expect(covered(a, b)).toBe(true)
      expect(covered(b, a)).toBe(true)
    }
    expect(covered('n200', 'n201')).toBe(false)
    expect(asked.every((q) => q.sourceId.length <= 100 && q.targetId.length <= 100)).toBe(true)
  })

  it('contain the property filter only if it is complete', () => {
    const filter = { ...NO_FILTER, name: ' pump ', property: { key: 'site', value: 'north' } }
    expect(filterQuery(filter, null, 5)).toMatchObject({ name: 'pump', 'property.site': 'north' })
    expect(filterQuery({ ...filter, property: { key: 'site', value: '' } }, null, 5)).not.toHaveProperty(
      'property.site',
    )
  })
})
