import { describe, expect, it } from 'vitest'

import { ago, bytes, compact, duration, num, plural, shellWord, shortId, visible } from './format'

describe('numbers', () => {
  it.each([
    [0, '0'],
    [12345, '12,345'],
    [-7, '−7'],
    [1.23456789, '1.23457'],
    [null, '–'],
    [NaN, '–'],
    [Infinity, '∞'],
  ])('num(%s) is %s', (n, text) => expect(num(n)).toBe(text))

  it.each([
    [0, '0'],
    [0.0421, '0.042'],
    [0.0000421, '4.2e−5'],
    [9.994, '9.99'],
    [9.996, '10'],
    [99.94, '99.9'],
    [123.4, '123'],
    [999.4, '999'],
    [999.6, '1k'],
    [12_345, '12.3k'],
    [999_960, '1M'],
    [-1_500_000, '−1.5M'],
    [3.2e12, '3.2T'],
  ])('compact(%s) is %s', (n, text) => expect(compact(n)).toBe(text))

  it.each([
    [0, '0 B'],
    [1023, '1023 B'],
    [1024, '1 KiB'],
    [1_572_864, '1.5 MiB'],
    [1023.9 * 1024, '1 MiB'],
  ])('bytes(%s) is %s', (n, text) => expect(bytes(n)).toBe(text))

  it('selects the singular or the plural form', () => {
    expect(plural(1, 'key')).toBe('1 key')
    expect(plural(0, 'key')).toBe('0 keys')
    expect(plural(2, 'key is', 'keys are')).toBe('2 keys are')
    expect(plural(12_345, 'record', 'records', compact)).toBe('12.3k records')
  })
})

describe('times', () => {
  it.each([
    [0, '0 s'],
    [0.42, '420 µs'],
    [12.34, '12.3 ms'],
    [999.7, '1 s'],
    [3_200, '3.2 s'],
    [59_949, '59.9 s'],
    [59_960, '1 min'],
    [245_000, '4 min 5 s'],
    [7_380_000, '2 h 3 min'],
    [86_400_000, '1 d'],
    [-1_000, '−1 s'],
    [null, '–'],
  ])('duration(%s) is %s', (ms, text) => expect(duration(ms)).toBe(text))

  it.each([
    [1_000, 'now'],
    [12_000, '12 s ago'],
    [-12_000, 'in 12 s'],
    [3_600_000, '1 h ago'],
    [40 * 86_400_000, '40 d ago'],
    [120 * 86_400_000, '3 months ago'],
    [-90 * 86_400_000, 'in 90 d'],
    [800 * 86_400_000, '2 years ago'],
  ])('%s ms before is %s', (before, text) => expect(ago(new Date(1e12 - before), new Date(1e12))).toBe(text))

  it('shows a dash for an invalid time', () => expect(ago(new Date('x'), new Date())).toBe('–'))
})

describe('untrusted text', () => {
  it('is unchanged if it has no invisible characters', () => {
    const text = '<img src=x onerror=alert(1)> Größe 温度 🚀 السلام'
    expect(visible(text)).toBe(text)
  })
  it('shows invisible characters', () => {
    expect(visible('a\u0000b\nc\u007f')).toBe('a\u2400b\u240Ac\u2421')
    expect(visible('\u202Etxt.exe')).toBe('[U+202E]txt.exe')
    expect(visible('a\u200Bb\uFEFF')).toBe('a[U+200B]b[U+FEFF]')
    expect(visible('\u2066x\u2069')).toBe('[U+2066]x[U+2069]')
    expect(visible('\u{E0041}')).toBe('[U+E0041]')
  })
  it('shows unpaired surrogates and keeps valid pairs', () => {
    expect(visible('\ud83d')).toBe('[U+D83D]')
    expect(visible('\ude80x')).toBe('[U+DE80]x')
    expect(visible('👩‍👩‍👧')).toBe('👩‍👩‍👧')
  })
  it('truncates long text', () => {
    expect(visible('x'.repeat(10_000), 10)).toBe('xxxxxxxxxx…')
    expect(visible('🚀'.repeat(10), 3)).not.toContain('�')
  })
})

it('quotes shell words', () => {
  expect(shellWord('http://127.0.0.1:8080/api')).toBe('http://127.0.0.1:8080/api')
  expect(shellWord("it's $HOME")).toBe(`'it'\\''s $HOME'`)
  expect(shellWord('')).toBe("''")
})

it('shortens an id to its last characters', () =>
  expect(shortId('01994d8a-0000-7000-8000-000000000001')).toBe('…00000001'))
