import { describe, expect, it } from 'vitest'

import { ApiError } from '@/api'

import {
  changeOf,
  EXAMPLE,
  moveProblems,
  nameError,
  nextIndent,
  problemsOf,
  sizeError,
  unixLines,
} from './ruleText'

describe('the name of a file', () => {
  it.each(['machines', 'a', '0-a_b.yml', 'x'.repeat(100)])('can be %s', (name) =>
    expect(nameError(name)).toBeUndefined(),
  )
  it.each(['', '.hidden', '-a', 'a b', 'a/b', 'é', 'x'.repeat(101)])('cannot be "%s"', (name) =>
    expect(nameError(name)).toBeDefined(),
  )
})

it('measures a text in bytes', () => {
  expect(sizeError('é'.repeat(128 * 1024))).toBeUndefined()
  expect(sizeError('é'.repeat(128 * 1024 + 1))?.reason).toContain('may have at most')
})

it('has the line ends of a textarea', () => expect(unixLines('a\r\nb\rc\n')).toBe('a\nb\nc\n'))

describe('errors of the server', () => {
  it('are about the text if they have problems', () => {
    const problems = [{ line: 4, reason: 'unexpected end' }]
    expect(problemsOf(new ApiError(422, { details: { field: 'body', problems } }))).toEqual(problems)
  })
  it('are not about the text otherwise', () => {
    expect(problemsOf(new ApiError(422, { details: { limit: 100 } }))).toEqual([])
    expect(problemsOf(new Error('x'))).toEqual([])
    expect(problemsOf(null)).toEqual([])
  })
})

describe('the difference of two texts', () => {
  it.each([
    ['a\nb\nc', 'a\nx\ny\nc', { before: 1, removed: ['b'], added: ['x', 'y'] }],
    ['a\nb', 'a\nb', { before: 2, removed: [], added: [] }],
    ['a\na', 'a\na\na', { before: 2, removed: [], added: ['a'] }],
    ['a\nb\nc', 'c', { before: 0, removed: ['a', 'b'], added: [] }],
  ])('from %j to %j', (old, text, change) => expect(changeOf(old, text)).toEqual(change))
})

describe('after a change', () => {
  const problems = [{ line: 2, reason: 'b' }, { line: 4, reason: 'd' }, { reason: 'of the file' }]
  const lines = (text: string) => moveProblems(problems, 'a\nb\nc\nd\n', text).map((one) => one.line)

  it('an error below it moves with its line', () => {
    expect(lines('a\nb\nc\nnew\nd\n')).toEqual([2, 5, undefined])
    expect(lines('a\nb\nd\n')).toEqual([2, 3, undefined])
    expect(lines('new\na\nb\nc\nd\n')).toEqual([3, 5, undefined])
  })
  it('an error of a changed line is removed', () => {
    expect(lines('a\nbb\nc\nd\n')).toEqual([4, undefined])
    expect(lines('')).toEqual([undefined])
  })
})

it.each([
  ['', ''],
  ['groups:', '  '],
  ['  - name: machines', '    '],
  ['    rules:', '      '],
  ['      - alert: Hot', '        '],
  ['        expr: a > 1', '        '],
  ['   - - a', '       '],
])('the line after "%s" is indented by "%s"', (line, indent) => expect(nextIndent(line)).toBe(indent))

it('the example is indented as a typed text would be', () => {
  const lines = EXAMPLE.split('\n')
  for (const [i, line] of lines.slice(1, -1).entries())
    expect(nextIndent(lines[i] ?? '').startsWith(/^ */.exec(line)?.[0] ?? ''), line).toBe(true)
})
