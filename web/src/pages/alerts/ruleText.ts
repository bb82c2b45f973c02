// The text of a file of rules, and where its errors are.

import { ApiError } from '@/api'
import { bytes } from '@/ui'

import type { RuleProblem } from './data'

/** The starting point of a new file. */
export const EXAMPLE = `groups:
  - name: machines
    interval: 30s
    rules:
      - record: source:temperature:avg5m
        expr: avg by (source) (avg_over_time(temperature[5m]))
      - alert: Hot
        expr: source:temperature:avg5m > 80
        for: 2m
        labels:
          severity: page
        annotations:
          summary: "{{ $labels.source }} is at {{ $value | humanize }} °C"
`

/** The maximum size of a file in bytes. */
const MAX_BYTES = 256 * 1024

/** Returns a text with the line ends that a textarea has. */
export const unixLines = (text: string) => text.replace(/\r\n?/g, '\n')

/** Returns why a file cannot have a name; undefined if it can. */
export function nameError(name: string): string | undefined {
  if (name === '') return 'A file needs a name.'
  if (name.length > 100) return `A name has at most 100 characters; this one has ${name.length}.`
  if (/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) return undefined
  return 'A name has letters, digits, dots, hyphens and underscores, and begins with a letter or a digit.'
}

/** Returns the error of a text that is too long to be sent; undefined if it is not. */
export function sizeError(text: string): RuleProblem | undefined {
  const size = new TextEncoder().encode(text).length
  if (size <= MAX_BYTES) return undefined
  return { reason: `The file has ${bytes(size)}, and may have at most ${bytes(MAX_BYTES)}.` }
}

/** Returns the errors of a text that the server refused; an empty list if the error is not about the text. */
export function problemsOf(error: unknown): readonly RuleProblem[] {
  if (!(error instanceof ApiError) || !Array.isArray(error.details['problems'])) return []
  return error.details['problems'] as RuleProblem[]
}

/** The lines that differ between two texts: one block of lines in place of another. */
export interface Change {
  /** Lines before the block, which are the same in both texts. */
  before: number
  removed: readonly string[]
  added: readonly string[]
}

/** Returns the smallest block of lines that contains all differences. */
export function changeOf(old: string, text: string): Change {
  const [a, b] = [old.split('\n'), text.split('\n')]
  const shorter = Math.min(a.length, b.length)
  let before = 0
  while (before < shorter && a[before] === b[before]) before++
  let after = 0
  while (after < shorter - before && a[a.length - 1 - after] === b[b.length - 1 - after]) after++
  return { before, removed: a.slice(before, a.length - after), added: b.slice(before, b.length - after) }
}

/** Returns the errors after a change of the text: those of changed lines are removed, those below them are moved. */
export function moveProblems(
  problems: readonly RuleProblem[],
  old: string,
  text: string,
): readonly RuleProblem[] {
  if (problems.length === 0) return problems
  const { before, removed, added } = changeOf(old, text)
  return problems.flatMap((problem) => {
    if (!problem.line || problem.line <= before) return [problem]
    if (problem.line <= before + removed.length) return []
    return [{ ...problem, line: problem.line + added.length - removed.length }]
  })
}

/**
 * Returns the indentation of the line that follows a line: that of its keys, or of what is nested in it if it ends
 * with a colon.
 */
export function nextIndent(line: string): string {
  const start = /^ *(?:- +)*/.exec(line)?.[0] ?? ''
  return ' '.repeat(start.length + (/:\s*$/.test(line) ? 2 : 0))
}
