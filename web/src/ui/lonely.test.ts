import { describe, expect, it } from 'vitest'

import { lonely } from './lonely'

describe('isolated values', () => {
  it('have a gap or nothing on both sides', () => {
    expect(lonely([1])).toEqual([0])
    expect(lonely([1, null, 2, null, 3, 4, null, 5])).toEqual([0, 2, 7])
    expect(lonely([null, null])).toEqual([])
    expect(lonely([1, 2, 3])).toEqual([])
    expect(lonely([])).toEqual([])
  })

  it('are not parted by times at which their series has no row', () => {
    expect(lonely([1, undefined, 2])).toEqual([])
    expect(lonely([null, undefined, 2, undefined, null])).toEqual([2])
  })
})
