// Filters of dead letters, and bulk actions in batches.
import type {
  ActionResult,
  Action,
  ActionRequest,
  Fate,
  DeadLetter,
  DeadLetterFilter,
  DeadLetterState,
  DeadLetterTopic,
  Outcome,
  RecordRef,
} from './shapes'

/** The filter in the URL of the page. Times are in RFC 3339 format. */
export interface DeadLetterQuery {
  topic: string
  state: DeadLetterState | ''
  workspaceId: string
  from: string
  to: string
  reason: string
  offset: number
}

export const DEAD_LETTERS_PER_PAGE = 50
/** The maximum number of dead letters that can be paged through. */
export const MAX_DEAD_LETTERS = 1000
/** The maximum number of record references of one request. */
export const MAX_REFS_PER_REQUEST = 100

const STATES: readonly DeadLetterState[] = ['open', 'redriven', 'discarded']

export function readDeadLetterQuery(address: URLSearchParams): DeadLetterQuery {
  const state = address.get('state')
  return {
    topic: address.get('topic') ?? '',
    state: state === 'all' ? '' : (STATES.find((item) => item === state) ?? 'open'),
    workspaceId: address.get('workspaceId') ?? '',
    from: time(address.get('from')),
    to: time(address.get('to')),
    reason: address.get('reason') ?? '',
    offset: offset(address.get('offset')),
  }
}

function time(text: string | null): string {
  const ms = Date.parse(text ?? '')
  return Number.isNaN(ms) ? '' : new Date(ms).toISOString()
}

function offset(text: string | null): number {
  const n = /^\d{1,6}$/.test(text ?? '') ? Number(text) : 0
  return Math.min(n, MAX_DEAD_LETTERS - DEAD_LETTERS_PER_PAGE)
}

export function writeDeadLetterQuery(q: DeadLetterQuery): URLSearchParams {
  const address = new URLSearchParams()
  const set = (name: string, value: string) => value !== '' && address.set(name, value)
  set('topic', q.topic)
  if (q.state !== 'open') address.set('state', q.state || 'all')
  set('workspaceId', q.workspaceId)
  set('from', q.from)
  set('to', q.to)
  set('reason', q.reason)
  if (q.offset > 0) address.set('offset', String(q.offset))
  return address
}

/** Reports whether the filter excludes any dead letters. */
export const isFiltered = (q: DeadLetterQuery): boolean =>
  [q.topic, q.workspaceId, q.from, q.to, q.reason].some((text) => text !== '') || q.state !== 'open'

/** Returns the parameters of GET /dead-letters. */
export const listParams = (q: DeadLetterQuery) => ({
  topic: q.topic,
  state: q.state,
  workspaceId: q.workspaceId,
  from: q.from,
  to: q.to,
  reason: q.reason,
  limit: DEAD_LETTERS_PER_PAGE,
  offset: q.offset || undefined,
})

/**
 * Returns the filter of a bulk action: that of the list, without dead letters that were added after `before`, so that
 * the action affects the ones that the dry run counted.
 */
export function bulkFilter(q: DeadLetterQuery, before: string): DeadLetterFilter {
  return {
    ...(q.topic !== '' && { topics: [q.topic as DeadLetterTopic] }),
    ...(q.workspaceId !== '' && { workspaceId: q.workspaceId }),
    ...(q.from !== '' && { from: q.from }),
    to: q.to !== '' && q.to < before ? q.to : before,
    ...(q.reason !== '' && { reasonContains: q.reason }),
    ...(q.state !== '' && { states: [q.state] }),
  }
}

/** Returns a time after all listed dead letters, even if this clock is behind that of the server. */
export function timeAfter(deadLetters: readonly DeadLetter[], now: number): string {
  const newest = deadLetters.map((letter) => Date.parse(letter.at)).filter((ms) => !Number.isNaN(ms))
  return new Date(Math.max(now, ...newest.map((ms) => ms + 1))).toISOString()
}

export const refKey = (p: RecordRef): string => `${p.topic}/${p.partition}/${p.offset}`

export const refOf = ({ topic, partition, offset }: RecordRef): RecordRef => ({ topic, partition, offset })

/** Returns the path of a dead letter below /dead-letters. */
export const refPath = (p: RecordRef): string => `/${encodeURIComponent(p.topic)}/${p.partition}/${p.offset}`

/** The selection: record references, or everything that a filter matches. */
export type Selection = { places: RecordRef[] } | { filter: DeadLetterFilter }

export function actionRequest(
  selection: Selection,
  options: { dryRun: boolean; again: boolean; reason: string; cursor: string | null },
): ActionRequest {
  return {
    ...selection,
    dryRun: options.dryRun,
    ...(options.again && { again: true }),
    ...(options.reason.trim() !== '' && { reason: options.reason.trim() }),
    ...(options.cursor !== null && { cursor: options.cursor }),
  }
}

// ---------------------------------------------------------------------- portions

/** The totals of all requests of one action so far. */
export interface ActionTotals {
  counts: Record<Fate, number>
  /** The first outcomes, skipped ones first. */
  outcomes: Outcome[]
  /** The reasons of skipped dead letters with their numbers, the most frequent first. */
  skips: { why: string; count: number }[]
  checked: number
  /** The number of dead letters to check, as far as it is known. */
  toCheck: number
  /** Older dead letters that are not checked. */
  unchecked: number
  /** The cursor of the next request; null at the end. */
  cursor: string | null
}

const SHOWN_OUTCOMES = 200
const SHOWN_SKIPS = 20

export const emptyTotals = (): ActionTotals => ({
  counts: { would: 0, redriven: 0, discarded: 0, skipped: 0 },
  outcomes: [],
  skips: [],
  checked: 0,
  toCheck: 0,
  unchecked: 0,
  cursor: null,
})

/** Adds the result of a request to the totals. */
export function addResult(totals: ActionTotals, result: ActionResult): ActionTotals {
  const counts = { ...totals.counts }
  for (const fate of Object.keys(counts) as Fate[]) counts[fate] += result.counts[fate]
  const skips = new Map(totals.skips.map((skip) => [skip.why, skip.count]))
  for (const { fate, why = '' } of result.outcomes)
    if (fate === 'skipped') skips.set(why, (skips.get(why) ?? 0) + 1)
  return {
    counts,
    outcomes: [...totals.outcomes, ...result.outcomes]
      .sort((a, b) => Number(b.fate === 'skipped') - Number(a.fate === 'skipped'))
      .slice(0, SHOWN_OUTCOMES),
    skips: [...skips]
      .map(([why, count]) => ({ why, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, SHOWN_SKIPS),
    checked: totals.checked + result.scanned,
    toCheck: totals.checked + result.total,
    unchecked: totals.unchecked + result.skipped,
    cursor: result.nextCursor,
  }
}

/** Returns the number of dead letters that the action changed, or would change. */
export const affected = (totals: ActionTotals): number =>
  totals.counts.would + totals.counts.redriven + totals.counts.discarded

/** Runs an action by consecutive requests and reports the progress after each. */
export async function runAction(
  post: (body: ActionRequest) => Promise<ActionResult>,
  selection: Selection,
  options: { dryRun: boolean; again: boolean; reason: string },
  onProgress: (totals: ActionTotals) => void,
  signal: AbortSignal,
): Promise<ActionTotals> {
  let totals = emptyTotals()
  // References are sent in batches, one request after another.
  const batches: Selection[] =
    'places' in selection ? chunks(selection.places).map((places) => ({ places })) : [selection]
  for (const batch of batches) {
    do {
      signal.throwIfAborted()
      totals = addResult(totals, await post(actionRequest(batch, { ...options, cursor: totals.cursor })))
      onProgress(totals)
    } while (totals.cursor !== null)
  }
  return totals
}

function chunks<T>(list: readonly T[]): T[][] {
  const result: T[][] = []
  for (let i = 0; i < list.length; i += MAX_REFS_PER_REQUEST)
    result.push(list.slice(i, i + MAX_REFS_PER_REQUEST))
  return result
}

/** The texts of an action. */
export const ACTION_TEXTS: Record<Action, { verb: string; past: string; ing: string }> = {
  redrive: { verb: 'Redrive', past: 'redriven', ing: 'Redriving' },
  discard: { verb: 'Discard', past: 'discarded', ing: 'Discarding' },
}

/** Returns a hex dump of at most `maxBytes` bytes of a base64 text. */
export function hexDump(base64: string, maxBytes = 1024): { lines: string[]; bytes: number } {
  let bytes: string
  try {
    bytes = atob(base64)
  } catch {
    return { lines: [], bytes: 0 }
  }
  const lines: string[] = []
  for (let start = 0; start < Math.min(bytes.length, maxBytes); start += 16) {
    const codes = Array.from(bytes.slice(start, Math.min(start + 16, maxBytes)), (c) => c.charCodeAt(0))
    const hex = codes.map((b) => b.toString(16).padStart(2, '0')).join(' ')
    const text = codes.map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : '·')).join('')
    lines.push(`${start.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return { lines, bytes: bytes.length }
}
