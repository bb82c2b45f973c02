import { describe, expect, it } from 'vitest'

import { mergeItems, MAX_IDS, missingIds } from './itemsById'

const idOf = (item: { id: string }) => item.id

describe('items by id', () => {
  it('requests each unknown id once, up to the maximum for a URL', () => {
    const known = new Map([
      ['a', { id: 'a' }],
      ['gone', null],
    ])
    expect(missingIds(['c', 'a', 'b', 'c', 'gone', ''], known)).toEqual(['b', 'c'])
    const many = Array.from({ length: 250 }, (_, i) => `id${i}`)
    expect(missingIds(many, new Map())).toHaveLength(MAX_IDS)
  })

  it('remembers found and missing items and does not request them again', () => {
    const first = { id: 'a', name: 'the newest' }
    const known = mergeItems(new Map(), ['a', 'b'], [first, { id: 'a', name: 'of before' }], idOf)
    expect(known.get('a')).toBe(first)
    expect(known.get('b')).toBeNull()
    expect(missingIds(['a', 'b', 'c'], known)).toEqual(['c'])
    const more = mergeItems(known, ['c'], [{ id: 'c' }], idOf)
    expect([...more.keys()]).toEqual(['a', 'b', 'c'])
    expect(more.get('a')).toBe(first)
  })
})
