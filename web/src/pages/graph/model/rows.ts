// Properties as rows of a form: a key, a kind of value, and the text that was typed for it.

import type { Properties } from './types'

export const ROW_KINDS = ['text', 'number', 'yes/no', 'JSON'] as const
export type RowKind = (typeof ROW_KINDS)[number]

export interface Row {
  /** Tells rows apart while their keys are typed. */
  id: number
  key: string
  kind: RowKind
  text: string
}

function kindOf(value: unknown): RowKind {
  if (typeof value === 'string') return 'text'
  if (typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'yes/no'
  return 'JSON'
}

export function rowsOf(properties: Properties): Row[] {
  return Object.entries(properties)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, value], id) => {
      const kind = kindOf(value)
      return { id, key, kind, text: typeof value === 'string' ? value : JSON.stringify(value) }
    })
}

export interface ReadRows {
  properties: Properties
  /** What is wrong, by the row's id. */
  errors: Map<number, string>
}

/** Reads the rows. One without key and text is not there yet and counts for nothing. */
export function readRows(rows: readonly Row[]): ReadRows {
  const entries = new Map<string, unknown>()
  const errors = new Map<number, string>()
  for (const row of rows) {
    if (row.key === '' && row.text === '') continue
    if (row.key === '') errors.set(row.id, 'It needs a key.')
    else if (entries.has(row.key)) errors.set(row.id, `There is another “${row.key}”.`)
    else {
      const value = readValue(row)
      if ('wrong' in value) errors.set(row.id, value.wrong)
      else entries.set(row.key, value.value)
    }
  }
  return { properties: Object.fromEntries(entries), errors }
}

function readValue(row: Row): { value: unknown } | { wrong: string } {
  switch (row.kind) {
    case 'text':
      return { value: row.text }
    case 'number': {
      const n = Number(row.text)
      return row.text.trim() === '' || !Number.isFinite(n) ? { wrong: 'This is no number.' } : { value: n }
    }
    case 'yes/no':
      return { value: row.text === 'true' }
    case 'JSON':
      return readJson(row.text)
  }
}

function readJson(text: string): { value: unknown } | { wrong: string } {
  let value: unknown
  try {
    value = JSON.parse(text) as unknown
  } catch {
    return { wrong: 'This is no JSON.' }
  }
  return holdsNull(value) ? { wrong: 'No value may be null: remove it instead.' } : { value }
}

/** Null is how a merge patch removes, so it cannot be a value; inside of a list it can. */
function holdsNull(value: unknown): boolean {
  if (value === null) return true
  if (typeof value !== 'object' || Array.isArray(value)) return false
  return Object.values(value).some(holdsNull)
}
