// Merge patches (RFC 7396) of properties, and conflicts between concurrent edits.

import type { Properties } from './types'

export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, i) => sameJson(item, b[i]))
  }
  if (!isObject(a) || !isObject(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && sameJson(a[key], b[key]))
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns a record without a prototype, because a property may be named `__proto__`. */
function record(): Properties {
  return Object.create(null) as Properties
}

/** Returns the merge patch from `before` to `after`; null if they are equal. */
export function mergePatch(before: Properties, after: Properties): Properties | null {
  const patch = record()
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (sameJson(old, value)) continue
    // The server merges objects, so removed keys must be listed.
    if (isObject(old) && isObject(value)) patch[key] = mergePatch(old, value) ?? {}
    else patch[key] = value
  }
  return Object.keys(patch).length > 0 ? patch : null
}

/** The values of a field before and after; undefined if absent. */
export interface Difference {
  field: string
  before: unknown
  after: unknown
}

/** The editable fields of nodes and edges. */
export interface Editable {
  name?: string
  entityType?: string
  description?: string | null
  relationType?: string
  properties: Properties
}

const FIELDS = ['name', 'entityType', 'relationType', 'description'] as const

/** Returns the differences between two states by field; properties by key. */
export function differences(before: Editable, after: Editable): Difference[] {
  const list: Difference[] = []
  for (const field of FIELDS) {
    const [a, b] = [before[field] ?? undefined, after[field] ?? undefined]
    if (a !== b) list.push({ field, before: a, after: b })
  }
  const keys = new Set([...Object.keys(before.properties), ...Object.keys(after.properties)])
  for (const key of keys) {
    const a = Object.hasOwn(before.properties, key) ? before.properties[key] : undefined
    const b = Object.hasOwn(after.properties, key) ? after.properties[key] : undefined
    if (!sameJson(a, b)) list.push({ field: `properties.${key}`, before: a, after: b })
  }
  return list
}

/** Returns the payload of an update without the id, with the changed fields only; null if there are none. */
export function updateOf(before: Editable, after: Editable): Record<string, unknown> | null {
  const update: Record<string, unknown> = {}
  for (const field of FIELDS)
    if ((before[field] ?? null) !== (after[field] ?? null)) update[field] = after[field] ?? null
  const properties = mergePatch(before.properties, after.properties)
  if (properties) update.properties = properties
  return Object.keys(update).length > 0 ? update : null
}

/** A concurrent change by another user. */
export interface EditConflict {
  /** What they changed since `base`. */
  theirs: Difference[]
  /** Fields that both changed to different values. Saving overwrites theirs. */
  overlapping: string[]
}

/** Compares my edit of `base` with the current state. */
export function findEditConflict(base: Editable, mine: Editable, theirs: Editable): EditConflict {
  const changed = differences(base, theirs)
  const own = new Map(differences(base, mine).map((difference) => [difference.field, difference.after]))
  const overlapping = changed
    .filter(({ field, after }) => own.has(field) && !sameJson(own.get(field), after))
    .map(({ field }) => field)
  return { theirs: changed, overlapping }
}

/** Returns `theirs` with my changes to `base` applied. */
export function rebase(base: Editable, mine: Editable, theirs: Editable): Editable {
  const merged: Editable = { ...theirs, properties: { ...theirs.properties } }
  for (const { field, after } of differences(base, mine)) {
    if (field.startsWith('properties.')) {
      const key = field.slice('properties.'.length)
      const properties = Object.fromEntries(
        Object.entries(merged.properties).filter(([name]) => name !== key),
      )
      if (after !== undefined) properties[key] = after
      merged.properties = properties
    } else {
      Object.assign(merged, { [field]: after ?? null })
    }
  }
  return merged
}

/** Returns a value as one line of text. */
export function valueText(value: unknown): string {
  if (value === undefined) return '—'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
