/** The form of a source and its request. */
import type { NewSource, Source, SourceMetric, SourcePatch } from './shapes'

export interface Draft {
  name: string
  description: string
  unit: string
  nodeId: string
  retentionDays: string
  intervalSeconds: string
  tags: { key: string; value: string }[]
  metrics: { name: string; unit: string; description: string }[]
}

export type DraftProblems = Partial<Record<keyof Draft, string>>

export const emptyDraft = (): Draft => ({
  name: '',
  description: '',
  unit: '',
  nodeId: '',
  retentionDays: '',
  intervalSeconds: '',
  tags: [],
  metrics: [],
})

export function draftOf(source: Source): Draft {
  return {
    name: source.name,
    description: source.description,
    unit: source.unit ?? '',
    nodeId: source.nodeId ?? '',
    retentionDays: source.retentionDays?.toString() ?? '',
    intervalSeconds: source.intervalSeconds?.toString() ?? '',
    tags: Object.entries(source.tags).map(([key, value]) => ({ key, value })),
    metrics: source.metrics.map((m) => ({
      name: m.name,
      unit: m.unit ?? '',
      description: m.description ?? '',
    })),
  }
}

const UUID = /^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$/i
const length = (text: string) => Array.from(text).length

/** Validates a draft by the rules of the server and returns the errors by field. */
export function problemsOf(draft: Draft): DraftProblems {
  const problems: DraftProblems = {}
  if (length(draft.name) === 0) problems.name = 'Enter a name.'
  else if (length(draft.name) > 256) problems.name = 'At most 256 characters.'
  if (length(draft.unit) > 64) problems.unit = 'At most 64 characters.'
  if (draft.nodeId.trim() !== '' && !UUID.test(draft.nodeId.trim()))
    problems.nodeId = 'A node’s id, such as 0192f0c1-5f3e-7c3a-8d7a-4f509b1c0a2d.'
  const days = Number(draft.retentionDays)
  if (draft.retentionDays.trim() !== '' && !(Number.isInteger(days) && days >= 1 && days <= 36_500))
    problems.retentionDays = 'Whole days, from 1 to 36,500.'
  const seconds = Number(draft.intervalSeconds)
  if (draft.intervalSeconds.trim() !== '' && !(seconds >= 0.001 && seconds <= 31_536_000))
    problems.intervalSeconds = 'Seconds, from 0.001 to 31,536,000.'
  const tags = draft.tags.filter((tag) => tag.key !== '' || tag.value !== '')
  const keys = tags.map((tag) => tag.key)
  if (keys.includes('')) problems.tags = 'Enter a key for every tag.'
  else if (new Set(keys).size < keys.length) problems.tags = 'Keys must be unique.'
  else if (keys.length > 64) problems.tags = 'At most 64 tags.'
  else if (keys.some((key) => length(key) > 256)) problems.tags = 'Keys have at most 256 characters.'
  else if (tags.some((tag) => length(tag.value) > 1024))
    problems.tags = 'Values have at most 1,024 characters.'
  const names = writtenMetrics(draft).map((m) => m.name)
  if (names.includes('')) problems.metrics = 'Enter a name for every metric.'
  else if (new Set(names).size < names.length) problems.metrics = 'Metrics must be unique.'
  else if (names.some((name) => length(name) > 256)) problems.metrics = 'Names have at most 256 characters.'
  return problems
}

const writtenMetrics = (draft: Draft) =>
  draft.metrics.filter((m) => m.name !== '' || m.unit !== '' || m.description !== '')

/** Creates the record without a prototype, so that a tag can be named `__proto__`. */
function tagsOf<T>(entries: readonly [string, T][]): Record<string, T> {
  const tags = Object.create(null) as Record<string, T>
  for (const [key, value] of entries) tags[key] = value
  return tags
}

function metricsOf(draft: Draft): SourceMetric[] {
  return writtenMetrics(draft).map((m) => ({
    name: m.name,
    ...(m.unit !== '' && { unit: m.unit }),
    ...(m.description !== '' && { description: m.description }),
  }))
}

const number = (text: string) => (text.trim() === '' ? null : Number(text))
const orNull = (text: string) => (text.trim() === '' ? null : text.trim())

/** Returns the body of POST /sources. */
export function newSource(draft: Draft): NewSource {
  const tags = draft.tags.filter((tag) => tag.key !== '')
  const metrics = metricsOf(draft)
  const [unit, nodeId] = [orNull(draft.unit), orNull(draft.nodeId)]
  const [retentionDays, intervalSeconds] = [number(draft.retentionDays), number(draft.intervalSeconds)]
  return {
    name: draft.name,
    ...(draft.description !== '' && { description: draft.description }),
    ...(unit !== null && { unit }),
    ...(nodeId !== null && { nodeId }),
    ...(tags.length > 0 && { tags: tagsOf(tags.map((tag) => [tag.key, tag.value])) }),
    ...(metrics.length > 0 && { metrics }),
    ...(retentionDays !== null && { retentionDays }),
    ...(intervalSeconds !== null && { intervalSeconds }),
  }
}

/** Returns the merge patch from a source to the draft; null if nothing changed. */
export function patchOf(source: Source, draft: Draft): SourcePatch | null {
  const patch: SourcePatch = {}
  if (draft.name !== source.name) patch.name = draft.name
  if (draft.description !== source.description) patch.description = draft.description
  const [unit, nodeId] = [orNull(draft.unit), orNull(draft.nodeId)]
  if (unit !== source.unit) patch.unit = unit
  if (nodeId?.toLowerCase() !== source.nodeId?.toLowerCase()) patch.nodeId = nodeId
  const [days, seconds] = [number(draft.retentionDays), number(draft.intervalSeconds)]
  if (days !== source.retentionDays) patch.retentionDays = days
  if (seconds !== source.intervalSeconds) patch.intervalSeconds = seconds
  const tags = tagChanges(source, draft)
  if (Object.keys(tags).length > 0) patch.tags = tags
  const metrics = metricsOf(draft)
  if (JSON.stringify(metrics) !== JSON.stringify(metricsOf(draftOf(source)))) patch.metrics = metrics
  return Object.keys(patch).length > 0 ? { ...patch, expectedVersion: source.version } : null
}

function tagChanges(source: Source, draft: Draft): Record<string, string | null> {
  const wanted = new Map(draft.tags.filter((tag) => tag.key !== '').map((tag) => [tag.key, tag.value]))
  const now = new Map(Object.entries(source.tags))
  const changes: [string, string | null][] = []
  for (const key of now.keys()) if (!wanted.has(key)) changes.push([key, null])
  for (const [key, value] of wanted) if (now.get(key) !== value) changes.push([key, value])
  return tagsOf(changes)
}

/** Returns the form field of a server error path such as `metrics[2].name`. */
export function fieldOf(path: string | undefined): keyof Draft | undefined {
  const name = /^[a-zA-Z]+/.exec(path ?? '')?.[0] ?? ''
  return name in emptyDraft() ? (name as keyof Draft) : undefined
}
