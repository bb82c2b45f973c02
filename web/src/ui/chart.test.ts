import { describe, expect, it } from 'vitest'

import { yRange } from './range'
import { faded } from './scheme'
import { sparkPath } from './Sparkline'

describe('a sparkline', () => {
  it('fills the width and the height', () => {
    expect(sparkPath([0, 10], 100, 23).line).toBe('M0 21.5L100 1.5')
  })
  it('has a gap for missing values', () => {
    const { line, area } = sparkPath([1, null, 1, 1], 90, 23)
    expect(line.match(/M/g)).toHaveLength(2)
    expect(area.match(/Z/g)).toHaveLength(2)
  })
  it('is empty without values', () => {
    expect(sparkPath([null, null], 90, 23)).toEqual({ line: '', area: '' })
    expect(sparkPath([], 90, 23)).toEqual({ line: '', area: '' })
  })
  it('never contains NaN or Infinity', () => {
    expect(sparkPath([5, 5, Infinity, NaN], 90, 23).line).not.toMatch(/NaN|Infinity/)
  })
})

describe('the range of an axis', () => {
  it('is never empty', () => {
    expect(yRange(null, null, false)).toEqual([0, 1])
    expect(yRange(0, 0, true)).toEqual([0, 1])
    const [from, to] = yRange(5, 5, false)
    expect(from).toBeLessThan(5)
    expect(to).toBeGreaterThan(5)
  })
  it('does not start below zero without negative values', () => expect(yRange(0.1, 10, false)[0]).toBe(0))
  it('starts at zero on request', () => expect(yRange(900, 1000, true)[0]).toBe(0))
  it('leaves a margin below negative values', () => expect(yRange(-10, 10, true)[0]).toBeLessThan(-10))
})

it('fades rgb() colours in either notation', () => {
  expect(faded('rgb(1, 2, 3)', 0.5)).toBe('rgba(1, 2, 3, 0.5)')
  expect(faded('rgb(1 2 3 / 0.4)', 0.5)).toBe('rgba(1, 2, 3, 0.5)')
  expect(faded('red', 0.5)).toBe('red')
})
