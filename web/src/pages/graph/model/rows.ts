// Properties as form rows: a key, a kind and the typed text.

import type { Properties } from './types'

export const ROW_KINDS = ['text', 'number', 'yes/no', 'JSON'] as const
export type RowKind = (typeof ROW_KINDS)[number]

export interface Row {
  /** Identifies rows while their keys are edited. */
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
  /** Errors by row id. */
  errors: Map<number, string>
}

/** Reads the rows. A row without key and text is ignored. */
export function readRows(rows: readonly Row[]): ReadRows {
  const entries = new Map<string, unknown>()
  const errors = new Map<number, string>()
  for (const row of rows) {
    if (row.key === '' && row.text === '') continue
    if (row.key === '') errors.set(row.id, 'Enter a key.')
    else if (entries.has(row.key)) errors.set(row.id, `Duplicate key “${row.key}”.`)
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
      return row.text.trim() === '' || !Number.isFinite(n) ? { wrong: 'Not a number.' } : { value: n }
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
    return { wrong: 'Invalid JSON.' }
  }
  return containsNull(value) ? { wrong: 'Null is not allowed: remove the property instead.' } : { value }
}

/**
 * Reports whether a value is null or an object that contains null. A merge patch removes by null, so null cannot be a
 * value, except inside a list.
 */
function containsNull(value: unknown): boolean {
  if (value === null) return true
  if (typeof value !== 'object' || Array.isArray(value)) return false
  return Object.values(value).some(containsNull)
}
