// The conditions on properties: one on each line of a text, as `key = value`, `key >= 5`, `key <= 9` or `key ^= abc`.

import type { Bound, Scalar } from './types'

/** The maximum number of properties with one kind of condition. */
const MAX_PROPERTIES = 32
/** The maximum number of values of a property. */
const MAX_VALUES = 100

/** The conditions by property, as the API has them. */
export interface Filters {
  /** One of these values. */
  equal: Map<string, Scalar[]>
  min: Map<string, Bound>
  max: Map<string, Bound>
  prefix: Map<string, string>
}

type Operator = '=' | '>=' | '<=' | '^='

const FIELDS: Record<Operator, keyof Filters> = { '=': 'equal', '>=': 'min', '<=': 'max', '^=': 'prefix' }

/**
 * Parses conditions on properties. A value is parsed as JSON if it is a number, true, false or a quoted string,
 * otherwise it is text. After `=`, several values in brackets match any of them, and so does a repeated key. A key may
 * be quoted like a value, for example if it contains an equals sign.
 */
export function readFilters(text: string): { filters: Filters } | { wrong: string } {
  const filters: Filters = { equal: new Map(), min: new Map(), max: new Map(), prefix: new Map() }
  for (const line of text.split('\n').map((item) => item.trim())) {
    if (line === '') continue
    const parts = split(line)
    if (!parts) return { wrong: notAFilter(line) }
    const wrong = add(filters, parts)
    if (wrong) return { wrong: `${quoted(parts.key)} ${wrong}` }
  }
  for (const [operator, field] of Object.entries(FIELDS)) {
    if (filters[field].size > MAX_PROPERTIES)
      return { wrong: `At most ${MAX_PROPERTIES} properties with ${operator}.` }
  }
  for (const [key, low] of filters.min) {
    const high = filters.max.get(key)
    if (high !== undefined && typeof high !== typeof low)
      return { wrong: `${quoted(key)} has a number and a text as limits, so that nothing is in between.` }
    if (typeof high === 'number' && typeof low === 'number' && low > high)
      return { wrong: `${quoted(key)} cannot be at least ${low} and at most ${high}.` }
  }
  return { filters }
}

interface Parts {
  key: string
  operator: Operator
  value: string
}

const QUOTED_KEY = /^("(?:[^"\\]|\\.)*")\s*([><^]?=)(.*)$/s
const PLAIN_KEY = /^([^=]*?)\s*([><^]?=)(.*)$/s

/** Splits a condition at its operator, the first one outside of a quoted key; undefined if there is none. */
function split(line: string): Parts | undefined {
  const match = QUOTED_KEY.exec(line) ?? PLAIN_KEY.exec(line)
  if (!match) return undefined
  const [, name = '', operator, rest = ''] = match
  const parsed = name.startsWith('"') ? readJson(name) : undefined
  const key = typeof parsed === 'string' ? parsed : name.trim()
  // A quoted name may be empty or consist of spaces.
  if (key === '' && typeof parsed !== 'string') return undefined
  return { key, operator: operator as Operator, value: rest.trim() }
}

function notAFilter(line: string): string {
  if (/[<>]/.test(line) && !line.includes('='))
    return `${quoted(line)} is not a filter. Use >= or <=: limits are inclusive.`
  return `${quoted(line)} is not a filter. Use key = value, key >= 5, key <= 9 or key ^= beginning.`
}

/** Adds a condition. It returns what is wrong with it. */
function add(filters: Filters, { key, operator, value }: Parts): string | undefined {
  if (value === '') return 'has no value.'
  if (operator === '=') return addValues(filters.equal, key, value)
  const parsed = readJson(value)
  if (operator === '^=') {
    if (filters.prefix.has(key)) return 'has two beginnings.'
    // A beginning is a text, also if it looks like a number.
    filters.prefix.set(key, typeof parsed === 'string' ? parsed : value)
    return undefined
  }
  const limits = operator === '>=' ? filters.min : filters.max
  if (limits.has(key)) return `has two limits with ${operator}.`
  const isList = Array.isArray(parsed)
  if (isList || typeof parsed === 'boolean') return 'needs a number or a text as its limit.'
  limits.set(key, isBound(parsed) ? parsed : value)
  return undefined
}

function addValues(equal: Filters['equal'], key: string, text: string): string | undefined {
  const parsed = readJson(text)
  const list: unknown[] = Array.isArray(parsed) ? parsed : [isScalar(parsed) ? parsed : text]
  if (list.length === 0) return 'has no value.'
  if (!list.every(isScalar)) return 'has a value that is not a text, a number, true or false.'
  const values = [...(equal.get(key) ?? []), ...list]
  if (values.length > MAX_VALUES) return `has more than ${MAX_VALUES} values.`
  equal.set(key, values)
  return undefined
}

/** Returns the text of conditions, which `readFilters` parses to the same. */
export function filtersText({ equal, min, max, prefix }: Filters): string {
  const lines: string[] = []
  for (const [key, values] of equal) {
    const [only] = values
    const text = values.length === 1 && only !== undefined ? valueText(only) : JSON.stringify(values)
    lines.push(`${keyText(key)} = ${text}`)
  }
  for (const [key, limit] of min) lines.push(`${keyText(key)} >= ${valueText(limit)}`)
  for (const [key, limit] of max) lines.push(`${keyText(key)} <= ${valueText(limit)}`)
  for (const [key, beginning] of prefix) lines.push(`${keyText(key)} ^= ${valueText(beginning)}`)
  return lines.join('\n')
}

function keyText(key: string): string {
  return /^[^\s="<>^]([^=\r\n"]*[^\s="<>^])?$/.test(key) ? key : JSON.stringify(key)
}

function valueText(value: Scalar): string {
  if (typeof value !== 'string') return JSON.stringify(value)
  const plain = value !== '' && value.trim() === value && !/[\r\n]/.test(value)
  return plain && readJson(value) === undefined ? value : JSON.stringify(value)
}

const quoted = (text: string) => `“${text.trim().slice(0, 60)}”`

/** Returns the value of a JSON text; undefined if it is not JSON. */
function readJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

const isBound = (value: unknown): value is Bound =>
  typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))

const isScalar = (value: unknown): value is Scalar => isBound(value) || typeof value === 'boolean'
