import { describe, expect, it } from 'vitest'

import { isolatedIndices } from './isolated'

describe('isolated values', () => {
  it('have a gap or no value on both sides', () => {
    expect(isolatedIndices([1])).toEqual([0])
    expect(isolatedIndices([1, null, 2, null, 3, 4, null, 5])).toEqual([0, 2, 7])
    expect(isolatedIndices([null, null])).toEqual([])
    expect(isolatedIndices([1, 2, 3])).toEqual([])
    expect(isolatedIndices([])).toEqual([])
  })

  it('are not separated by timestamps without a row in their series', () => {
    expect(isolatedIndices([1, undefined, 2])).toEqual([])
    expect(isolatedIndices([null, undefined, 2, undefined, null])).toEqual([2])
  })
})
