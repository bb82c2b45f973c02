import { describe, expect, it } from 'vitest'

import { filtersText, readFilters, type Filters } from './filters'

const read = (text: string): Filters => {
  const result = readFilters(text)
  if ('wrong' in result) throw new Error(result.wrong)
  return result.filters
}

const wrong = (text: string) => {
  const result = readFilters(text)
  return 'wrong' in result ? result.wrong : ''
}

describe('filters by properties', () => {
  it('keep the types of values', () => {
    const text = 'site = north\nline=7\ncode = "7"\non = true\nfloor = [1, 2]\nline = 8\nexpr = a=b'
    expect(Object.fromEntries(read(text).equal)).toEqual({
      site: ['north'],
      line: [7, 8],
      code: ['7'],
      on: [true],
      floor: [1, 2],
      expr: ['a=b'],
    })
  })

  it('have ranges and beginnings', () => {
    const { equal, min, max, prefix } = read(
      'kW >= 5\nkW<=9.5\nserviced >= 2026-01\nyear >= "2026"\nline ^= A-\ncode ^= 12\nnote ^= "12"',
    )
    expect(equal.size).toBe(0)
    expect(Object.fromEntries(min)).toEqual({ kW: 5, serviced: '2026-01', year: '2026' })
    expect(Object.fromEntries(max)).toEqual({ kW: 9.5 })
    expect(Object.fromEntries(prefix)).toEqual({ line: 'A-', code: '12', note: '12' })
  })

  it('may have quoted keys', () => {
    expect(Object.fromEntries(read('"a = b" = 1\n"x>" = 2\n"" = 3\n"half = 4').equal)).toEqual({
      'a = b': [1],
      'x>': [2],
      '': [3],
      '"half': [4],
    })
  })

  it.each([
    ['north', 'key = value'],
    ['= x', 'key = value'],
    ['>= 5', 'key = value'],
    ['kW > 5', 'Use >= or <='],
    ['site =', 'no value'],
    ['kW >=', 'no value'],
    ['a = []', 'no value'],
    ['a = [[1]]', 'not a text, a number'],
    ['a = [null]', 'not a text, a number'],
    ['kW >= true', 'a number or a text'],
    ['kW <= [1, 2]', 'a number or a text'],
    ['kW >= 1\nkW >= 2', 'two limits'],
    ['line ^= a\nline ^= b', 'two beginnings'],
    ['kW >= 9\nkW <= 5', 'at least 9 and at most 5'],
    ['kW >= 9\nkW <= x', 'a number and a text'],
    [`a = ${JSON.stringify(Array.from({ length: 101 }, (_, i) => i))}`, '100 values'],
    [Array.from({ length: 33 }, (_, i) => `k${i} = 1`).join('\n'), '32 properties with ='],
    [Array.from({ length: 33 }, (_, i) => `k${i} ^= 1`).join('\n'), '32 properties with ^='],
  ])('report an error for %s', (text, message) => {
    expect(wrong(text)).toContain(message)
  })

  it('accept 32 properties with each kind of condition', () => {
    const lines = Array.from({ length: 32 }, (_, i) => `k${i} = 1\nk${i} >= 1\nk${i} <= 1\nk${i} ^= 1`)
    expect(wrong(lines.join('\n'))).toBe('')
  })

  it('are the same after they were written as a text', () => {
    const texts = [
      'a',
      '7',
      'true',
      '"x"',
      '[1]',
      ' a ',
      '',
      'a\nb',
      'a\rb',
      '= x',
      '>= 5',
      'null',
      'ä=ö',
      '{',
      '\\',
    ]
    const keys = [...texts, 'a b', 'x>', 'x^', '<x', 'a"b', '__proto__', '😀']
    const filters: Filters = {
      equal: new Map(
        [
          ...keys.map((key) => [key, [7]] as const),
          ['list', [...texts, 1, false]] as const,
          ...texts.map((text, i) => [`value ${i}`, [text]] as const),
          ['numbers', [-1.5e-7]] as const,
        ].map(([key, values]) => [key, [...values]]),
      ),
      min: new Map(texts.map((text, i) => [`min ${i}`, text])),
      max: new Map<string, string | number>([...keys.map((key, i) => [key, i] as const)]),
      prefix: new Map(texts.map((text, i) => [`prefix ${i}`, text])),
    }
    // More properties than the API allows, in parts.
    for (const [key, values] of filters.equal) {
      const part = { ...EMPTY, equal: new Map([[key, values]]) }
      expect(read(filtersText(part)), JSON.stringify(key)).toEqual(part)
    }
    for (const field of ['min', 'max', 'prefix'] as const) {
      const part = { ...EMPTY, [field]: filters[field] }
      expect(read(filtersText(part)), field).toEqual(part)
    }
  })
})

const EMPTY: Filters = { equal: new Map(), min: new Map(), max: new Map(), prefix: new Map() }
