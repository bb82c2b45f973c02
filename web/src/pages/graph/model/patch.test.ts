import { describe, expect, it } from 'vitest'

import { findEditConflict, differences, mergePatch, rebase, sameJson, updateOf } from './patch'
import type { Properties } from './types'

/** Applies a merge patch (RFC 7396) like the server. */
function apply(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {}
  const result = new Map(Object.entries(base))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, apply(result.get(key), value))
  }
  return Object.fromEntries(result)
}

describe('merge patches', () => {
  it.each<[string, Properties, Properties]>([
    ['a new key', {}, { a: 1 }],
    ['a removed key', { a: 1, b: 2 }, { b: 2 }],
    ['a value of another type', { a: '7' }, { a: 7 }],
    ['a nested key', { a: { b: 1, c: 2 } }, { a: { b: 3, c: 2 } }],
    ['a removed nested key', { a: { b: 1, c: { d: 1 } } }, { a: { c: {} } }],
    ['an object instead of a string', { a: 'x' }, { a: { b: 1 } }],
    ['a string instead of an object', { a: { b: 1 } }, { a: 'x' }],
    ['a list', { a: [1, { b: 2 }] }, { a: [1, { b: 3 }] }],
    ['a hostile key', {}, JSON.parse('{"__proto__": {"x": 1}, "constructor": 2}') as Properties],
  ])('transform one value into the other: %s', (_, before, after) => {
    expect(apply(before, mergePatch(before, after))).toEqual(after)
  })

  it('are null if nothing changed, regardless of the key order', () => {
    expect(mergePatch({ a: 1, b: { c: [1] } }, { b: { c: [1] }, a: 1 })).toBeNull()
    expect(sameJson({ a: 1 }, { b: 1 })).toBe(false)
  })
})

describe('an update', () => {
  const base = { name: 'Pump', entityType: 'object', description: 'wet', properties: { site: 'north' } }

  it('contains only the changed fields', () => {
    expect(updateOf(base, { ...base, description: null })).toEqual({ description: null })
    expect(updateOf(base, { ...base, name: 'Fan', properties: {} })).toEqual({
      name: 'Fan',
      properties: { site: null },
    })
    expect(updateOf(base, { ...base })).toBeNull()
  })
})

describe('two edits of the same item', () => {
  const base = { name: 'Pump', properties: { site: 'north', line: 1 } }
  const mine = { name: 'Pump 7', properties: { site: 'south', line: 1 } }

  it('overlap if both change the same field to different values', () => {
    const theirs = { name: 'Pump', properties: { site: 'east', line: 2 } }
    const found = findEditConflict(base, mine, theirs)
    expect(found.theirs.map(({ field }) => field)).toEqual(['properties.site', 'properties.line'])
    expect(found.overlapping).toEqual(['properties.site'])
  })

  it('do not overlap if both are the same', () => {
    expect(findEditConflict(base, mine, mine).overlapping).toEqual([])
  })

  it('are merged by applying the local edit to the remote one', () => {
    const theirs = { name: 'Pump', properties: { line: 2, floor: 3 } }
    expect(rebase(base, mine, theirs)).toEqual({
      name: 'Pump 7',
      properties: { line: 2, floor: 3, site: 'south' },
    })
    const removed = { name: 'Pump', properties: { line: 1 } }
    expect(rebase(base, removed, theirs).properties).toEqual({ line: 2, floor: 3 })
  })
})

describe('differences', () => {
  it('list each field with its old and new value', () => {
    expect(differences({ name: 'a', properties: { x: 1 } }, { name: 'b', properties: { y: [2] } })).toEqual([
      { field: 'name', before: 'a', after: 'b' },
      { field: 'properties.x', before: 1, after: undefined },
      { field: 'properties.y', before: undefined, after: [2] },
    ])
  })
})
