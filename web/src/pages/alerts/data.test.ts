import { describe, expect, it } from 'vitest'

import { labelsText, valueText } from './data'

describe('an alert', () => {
  it.each([
    ['9.5e+01', '95'],
    ['1.2345678e-03', '0.00123457'],
    ['NaN', 'NaN'],
    ['+Inf', '+Inf'],
  ])('has the value %s as %s', (value, text) => expect(valueText(value)).toBe(text))

  it('has its labels sorted by name', () => expect(labelsText({ b: '2', a: '1' })).toBe('a=1, b=2'))
})
