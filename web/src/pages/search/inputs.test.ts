import { describe, expect, it } from 'vitest'

import { isFiltered, isSelected, toggle, valueLabel, withoutFilter } from './facets'
import { DEFAULTS, type Form } from './form'
import { joinList, splitList } from './lists'
import { rangeErrors, rangeOf, sameTime, timeOf } from './times'

describe('a list in one line', () => {
  it('is split at commas outside of quotes', () => {
    expect(splitList(' a, b c ,, "d, e" , a')).toEqual(['a', 'b c', 'd, e'])
    expect(splitList('"half, x')).toEqual(['"half', 'x'])
    expect(splitList('')).toEqual([])
  })

  it('is the same after it was written as a text', () => {
    const items = ['a', 'b c', 'd, e', '"f"', ' g', 'h ', 'i"j', '\\', 'x\ny']
    expect(splitList(joinList(items))).toEqual(items)
    expect(joinList(['manual', 'a, b'])).toBe('manual, "a, b"')
  })
})

describe('a typed time', () => {
  it.each([
    ['2026', '2026-01-01T00:00:00Z'],
    [' 2026-11 ', '2026-11-01T00:00:00Z'],
    ['2026-11-21', '2026-11-21T00:00:00Z'],
    ['2026-11-21 07:40', '2026-11-21T07:40:00Z'],
    ['2026-11-21t07:40:08.5z', '2026-11-21T07:40:08.5Z'],
    ['2026-11-21T07:40:08+02:00', '2026-11-21T07:40:08+02:00'],
    ['2024-02-29', '2024-02-29T00:00:00Z'],
  ])('%s is %s', (typed, time) => expect(timeOf(typed)).toBe(time))

  it.each([
    '',
    'today',
    '2026-13',
    '2026-02-30',
    '2026-02-29',
    '2026-11-21T24:00',
    '2026-11-21T07',
    '26-11-21',
  ])('%j is none', (typed) => expect(timeOf(typed)).toBeUndefined())

  it('is compared as an instant', () => {
    expect(sameTime('2026-11', '2026-11-01T02:00+02:00')).toBe(true)
    expect(sameTime('2026-11', '2026-12')).toBe(false)
    expect(sameTime('', '')).toBe(false)
  })

  it('is a limit of a range, whose end is exclusive', () => {
    expect(rangeErrors('', '')).toEqual({})
    expect(rangeErrors('2026', '2027')).toEqual({})
    expect(Object.keys(rangeErrors('x', 'y'))).toEqual(['from', 'to'])
    expect(Object.keys(rangeErrors('2026-11-01', '2026-11'))).toEqual(['to'])
  })
})

describe('a value of a facet', () => {
  it.each([
    ['2026', '2026', '2027'],
    ['2026-12', '2026-12', '2027-01'],
    ['2026-02-28', '2026-02-28', '2026-03-01'],
    ['2024-12-31', '2024-12-31', '2025-01-01'],
    ['9999', '9999', ''],
  ])('%s is the range from %s to %s', (value, from, to) => expect(rangeOf(value)).toEqual({ from, to }))

  it.each(['manual', '2026-13', ''])('%j is not a range', (value) => expect(rangeOf(value)).toBeUndefined())

  const cases: [Parameters<typeof toggle>[1], string, Partial<Form>][] = [
    ['entityType', 'object', { entityTypes: ['object'] }],
    ['tags', 'manual', { allTags: ['manual'] }],
    ['timestamp', '2026-11', { from: '2026-11', to: '2026-12' }],
  ]
  it.each(cases)('of %s is a filter, and is removed again', (facet, value, filter) => {
    const filtered = toggle(DEFAULTS, facet, value)
    expect(filtered).toEqual({ ...DEFAULTS, ...filter })
    expect([isSelected(DEFAULTS, facet, value), isSelected(filtered, facet, value)]).toEqual([false, true])
    expect([isFiltered(DEFAULTS, facet), isFiltered(filtered, facet)]).toEqual([false, true])
    expect(toggle(filtered, facet, value)).toEqual(DEFAULTS)
    expect(withoutFilter(filtered, facet)).toEqual(DEFAULTS)
  })

  it('narrows the results further', () => {
    const first = toggle(DEFAULTS, 'tags', 'manual')
    expect(toggle(first, 'tags', 'north').allTags).toEqual(['manual', 'north'])
    const two: Form = { ...DEFAULTS, entityTypes: ['object', 'actor'] }
    expect(toggle(two, 'entityType', 'object').entityTypes).toEqual(['object'])
    expect(toggle({ ...DEFAULTS, from: '2026', to: '2027' }, 'timestamp', '2026-11')).toMatchObject({
      from: '2026-11',
      to: '2026-12',
    })
  })

  it('is selected by the same range in another notation', () => {
    const form = { ...DEFAULTS, from: '2026-11-01T00:00:00Z', to: '2026-12-01' }
    expect(isSelected(form, 'timestamp', '2026-11')).toBe(true)
    expect(isSelected(form, 'timestamp', '2026')).toBe(false)
  })

  it('has the name of the type', () => {
    expect(valueLabel('entityType', 'object')).toBe('Object')
    expect(valueLabel('tags', 'object')).toBe('object')
  })
})
