import { describe, expect, it } from 'vitest'

import { edge, node, change } from './fixtures'
import { groupsOf, relationsOf } from './groups'
import { changeStatuses, withChange } from './history'
import { outlineOf, treeRows } from './outline'
import { readRows, rowsOf } from './rows'
import { linesBySource, type PointRows } from './series'
import { changeDiffs, affectsNode } from './diffs'
import { EMPTY, withEdges, withNodes } from './canvas'
import { batchText, changeText, expansionText } from './descriptions'

const nameOf = (id: string) => id.toUpperCase()

describe('the status of changes', () => {
  it('reflects undos and redos regardless of the order of the list', () => {
    const target = { commandId: 'c1', type: 'UPDATE_NODE' } as const
    const made = change({ sequence: 1, commandId: 'c1' })
    const undo = change({ sequence: 2, commandId: 'c2', type: 'UNDO', target })
    const redo = change({ sequence: 3, commandId: 'c3', type: 'REDO', target })
    expect(changeStatuses([made]).get(1)).toBe('in effect')
    expect(changeStatuses([undo, made]).get(1)).toBe('undone')
    expect(changeStatuses([redo, undo, made]).get(1)).toBe('in effect')
    expect(changeStatuses([made, undo, redo]).get(2)).toBe('is an undo')
  })

  it('ignores a duplicate change', () => {
    const item = change({ sequence: 4 })
    expect(withChange([item], change({ sequence: 4 }))).toEqual([item])
    expect(withChange([item], change({ sequence: 5 })).map((c) => c.sequence)).toEqual([5, 4])
  })
})

describe('the diff of a change', () => {
  const first = change({ sequence: 1, type: 'CREATE_NODE', node: node('a', { name: 'Pump', version: 1 }) })
  const second = change({ sequence: 5, node: node('a', { name: 'Fan', version: 2 }) })

  it('is computed from consecutive states', () => {
    expect(changeDiffs([second, first]).get(5)).toEqual([{ field: 'name', before: 'Pump', after: 'Fan' }])
  })

  it('is omitted if a state in between is missing', () => {
    const third = change({ sequence: 9, node: node('a', { name: 'Mill', version: 4 }) })
    expect(changeDiffs([third, first]).size).toBe(0)
  })

  it('reports whether a change affects a node, directly or by an edge', () => {
    expect(affectsNode(change({ edge: edge('e', 'a', 'b') }), 'b')).toBe(true)
    expect(affectsNode(second, 'b')).toBe(false)
  })
})

describe('descriptions', () => {
  it('describe a change', () => {
    expect(changeText(change({ type: 'CREATE_NODE', node: node('a', { name: 'Pump' }) }), nameOf)).toBe(
      'Created “Pump”',
    )
    expect(changeText(change({ type: 'CREATE_EDGE', edge: edge('e', 'a', 'b') }), nameOf)).toBe(
      'Connected A → feeds → B',
    )
    const cascade = { restored: false, count: 12, edges: [] }
    expect(
      changeText(
        change({ type: 'DELETE_NODE', node: node('a', { name: 'Pump', deleted: true }), cascade }),
        nameOf,
      ),
    ).toBe('Deleted “Pump” and 12 edges')
    const target = { commandId: 'c', type: 'DELETE_NODE' } as const
    expect(changeText(change({ type: 'UNDO', target, node: node('a', { name: 'Pump' }) }), nameOf)).toBe(
      'Undid the deletion of a node: “Pump”',
    )
  })

  it('count the steps of a batch', () => {
    const steps = [
      { type: 'CREATE_NODE', node: node('a') },
      { type: 'CREATE_NODE', node: node('b') },
      { type: 'DELETE_EDGE', edge: { ...edge('e', 'a', 'b'), deleted: true } },
    ] as const
    expect(batchText(steps)).toBe('2 nodes created, 1 edge deleted')
  })

  it('contain how many neighbours of a hub are shown', () => {
    const options = { direction: 'both', relationTypes: [], depth: 1 } as const
    const hub = {
      options: { ...options, relationTypes: [] },
      fetched: 50,
      found: 2000,
      edges: 100_000,
      truncated: true,
      cursor: 'n',
    }
    expect(expansionText(hub)).toBe('Showing 50 neighbours; the node has 100,000 edges of this kind')
    expect(expansionText({ ...hub, truncated: false, found: 120, edges: null })).toBe(
      'Showing 50 of 120 neighbours',
    )
    expect(expansionText({ ...hub, truncated: false, found: 50, edges: null, cursor: null })).toBe(
      'All 50 neighbours shown',
    )
    expect(expansionText(null)).toBeNull()
  })
})

describe('the edges of a node', () => {
  it('are grouped by direction and relation', () => {
    const groups = groupsOf('a', [
      edge('1', 'a', 'b'),
      edge('2', 'a', 'c'),
      edge('3', 'd', 'a', 'owns'),
      edge('4', 'a', 'a', 'is'),
    ])
    expect(groups.map(({ out, relationType, count }) => [out, relationType, count])).toEqual([
      [true, 'feeds', 2],
      [true, 'is', 1],
      [false, 'owns', 1],
    ])
    expect(relationsOf(groups, 'in')).toEqual(['owns'])
  })
})

describe('the list of shown nodes', () => {
  const canvas = withEdges(
    withNodes(EMPTY, [
      node('a', { name: 'Pump 10' }),
      node('b', { name: 'Pump 9' }),
      node('c', { name: 'Fan' }),
    ]).canvas,
    [edge('1', 'a', 'b'), edge('2', 'c', 'a', 'cools')],
  )

  it('is sorted in natural order and filtered by text', () => {
    expect(outlineOf(canvas, '').map(({ name }) => name)).toEqual(['Fan', 'Pump 9', 'Pump 10'])
    expect(outlineOf(canvas, 'PUMP').length).toBe(2)
  })

  it('lists edges below an expanded node, outgoing first', () => {
    const lines = treeRows(outlineOf(canvas, 'pump 10'), new Set(['a']))
    expect(
      lines.map(({ level, relation, position, size }) => [level, relation?.text, position, size]),
    ).toEqual([
      [1, undefined, 1, 1],
      [2, 'feeds → Pump 9', 1, 2],
      [2, '← cools Fan', 2, 2],
    ])
  })
})

describe('properties in a form', () => {
  it('are unchanged after a round trip', () => {
    const properties = { a: 'x', b: 1.5, c: false, d: { e: [1, null] } }
    expect(readRows(rowsOf(properties))).toEqual({ properties, errors: new Map() })
  })

  it.each([
    [{ key: '', kind: 'text', text: 'x' }, 'Enter a key.'],
    [{ key: 'a', kind: 'number', text: 'seven' }, 'Not a number.'],
    [{ key: 'a', kind: 'number', text: ' ' }, 'Not a number.'],
    [{ key: 'a', kind: 'JSON', text: '{' }, 'Invalid JSON.'],
    [{ key: 'a', kind: 'JSON', text: '{"b": null}' }, 'Null is not allowed: remove the property instead.'],
  ] as const)('report an error for %j', (row, wrong) => {
    expect(readRows([{ id: 4, ...row }]).errors.get(4)).toBe(wrong)
  })

  it('require unique keys', () => {
    const rows = [
      { id: 1, key: 'a', kind: 'text', text: '' },
      { id: 2, key: 'a', kind: 'text', text: '' },
    ] as const
    expect(readRows(rows).errors.get(2)).toContain('Duplicate')
  })
})

describe('the series of a source', () => {
  it('joins latest values with lines by tags in any order, numbers first', () => {
    const rows = { sourceId: 's', sourceName: 'cpu', unit: '%', columns: ['timestamp', 'value'] }
    const newest: PointRows[] = [
      { ...rows, metric: 'state', tags: {}, points: [['t', 'on']] },
      { ...rows, metric: 'busy', tags: { core: '1', host: 'h' }, points: [['t', 12]] },
    ]
    const lines = [
      {
        ...rows,
        metric: 'busy',
        tags: { host: 'h', core: '1' },
        points: [
          ['t', 10],
          ['u', null],
          ['v', 12],
        ],
      },
    ]
    const [first, second] = linesBySource(newest, lines).get('s') ?? []
    expect(first).toMatchObject({ name: 'busy · 1 · h', value: 12, trend: [10, null, 12] })
    expect(second).toMatchObject({ value: 'on', trend: [] })
  })
})
