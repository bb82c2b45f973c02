// Merge patches (RFC 7396) of properties, and what two people's edits of one thing have to do with each other.

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

/** A record without a prototype: a property may be called `__proto__`. */
function record(): Properties {
  return Object.create(null) as Properties
}

/** The merge patch that makes `after` of `before`; null: they are the same. */
export function mergePatch(before: Properties, after: Properties): Properties | null {
  const patch = record()
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) patch[key] = null
  for (const [key, value] of Object.entries(after)) {
    const old = Object.hasOwn(before, key) ? before[key] : undefined
    if (sameJson(old, value)) continue
    // An object in place of an object is merged by the server: what it should lose must be said.
    if (isObject(old) && isObject(value)) patch[key] = mergePatch(old, value) ?? {}
    else patch[key] = value
  }
  return Object.keys(patch).length > 0 ? patch : null
}

/** What a field is before and after. Undefined: it is not there. */
export interface Difference {
  field: string
  before: unknown
  after: unknown
}

/** The fields of nodes and edges that people edit. */
export interface Editable {
  name?: string
  entityType?: string
  description?: string | null
  relationType?: string
  properties: Properties
}

const FIELDS = ['name', 'entityType', 'relationType', 'description'] as const

/** What is different between two states, by field; properties by their keys. */
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

/** The payload of an update, without the id: what changed and nothing else. Null: nothing did. */
export function updateOf(before: Editable, after: Editable): Record<string, unknown> | null {
  const update: Record<string, unknown> = {}
  for (const field of FIELDS)
    if ((before[field] ?? null) !== (after[field] ?? null)) update[field] = after[field] ?? null
  const properties = mergePatch(before.properties, after.properties)
  if (properties) update.properties = properties
  return Object.keys(update).length > 0 ? update : null
}

/** Somebody's change beside mine. */
export interface Collision {
  /** What they changed since I began. */
  theirs: Difference[]
  /** Fields that both of us changed, to different ends: saving mine overwrites theirs. */
  overlapping: string[]
}

/** Compares what I made of `base` with what it has become meanwhile. */
export function collide(base: Editable, mine: Editable, theirs: Editable): Collision {
  const changed = differences(base, theirs)
  const own = new Map(differences(base, mine).map((difference) => [difference.field, difference.after]))
  const overlapping = changed
    .filter(({ field, after }) => own.has(field) && !sameJson(own.get(field), after))
    .map(({ field }) => field)
  return { theirs: changed, overlapping }
}

/** What of mine is put on top of theirs: `theirs` with my differences to `base` applied. */
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

/** A value as one line of text. */
export function valueText(value: unknown): string {
  if (value === undefined) return '—'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
