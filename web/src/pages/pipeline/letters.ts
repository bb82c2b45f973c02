// Dead letters that are chosen by a filter, and what is done about them in portions.
import type {
  Acted,
  Action,
  ActionRequest,
  Fate,
  Letter,
  LetterFilter,
  LetterState,
  LetterTopic,
  Outcome,
  Place,
} from './shapes'

/** A filter as the page's address has it. Times are as RFC 3339 has them. */
export interface LetterQuery {
  topic: string
  state: LetterState | ''
  workspaceId: string
  from: string
  to: string
  reason: string
  offset: number
}

export const LETTERS_PER_PAGE = 50
/** The newest letters that can be paged through. */
export const MOST_LETTERS = 1000
/** Most letters that one request names one by one. */
export const MOST_PLACES = 100

const STATES: readonly LetterState[] = ['open', 'redriven', 'discarded']

export function readLetterQuery(address: URLSearchParams): LetterQuery {
  const state = address.get('state')
  return {
    topic: address.get('topic') ?? '',
    state: state === 'all' ? '' : (STATES.find((one) => one === state) ?? 'open'),
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
  return Math.min(n, MOST_LETTERS - LETTERS_PER_PAGE)
}

export function writeLetterQuery(q: LetterQuery): URLSearchParams {
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

/** Whether it chooses some of all letters. */
export const narrowed = (q: LetterQuery): boolean =>
  [q.topic, q.workspaceId, q.from, q.to, q.reason].some((text) => text !== '') || q.state !== 'open'

/** The parameters of GET /dead-letters. */
export const listParams = (q: LetterQuery) => ({
  topic: q.topic,
  state: q.state,
  workspaceId: q.workspaceId,
  from: q.from,
  to: q.to,
  reason: q.reason,
  limit: LETTERS_PER_PAGE,
  offset: q.offset || undefined,
})

/**
 * The filter of a bulk action: that of the list, and nothing that is put aside after
 * `before`, so that what is done is what the dry run counted.
 */
export function bulkFilter(q: LetterQuery, before: string): LetterFilter {
  return {
    ...(q.topic !== '' && { topics: [q.topic as LetterTopic] }),
    ...(q.workspaceId !== '' && { workspaceId: q.workspaceId }),
    ...(q.from !== '' && { from: q.from }),
    to: q.to !== '' && q.to < before ? q.to : before,
    ...(q.reason !== '' && { reasonContains: q.reason }),
    ...(q.state !== '' && { states: [q.state] }),
  }
}

/** A time after all letters that are seen, also where this clock is behind the server's. */
export function after(letters: readonly Letter[], now: number): string {
  const newest = letters.map((letter) => Date.parse(letter.at)).filter((ms) => !Number.isNaN(ms))
  return new Date(Math.max(now, ...newest.map((ms) => ms + 1))).toISOString()
}

export const placeKey = (p: Place): string => `${p.topic}/${p.partition}/${p.offset}`

export const placeOf = ({ topic, partition, offset }: Place): Place => ({ topic, partition, offset })

/** The path of a letter below /dead-letters. */
export const placePath = (p: Place): string => `/${encodeURIComponent(p.topic)}/${p.partition}/${p.offset}`

/** What was chosen: letters by their places, or all of a filter. */
export type Chosen = { places: Place[] } | { filter: LetterFilter }

export function actionRequest(
  chosen: Chosen,
  how: { dryRun: boolean; again: boolean; reason: string; cursor: string | null },
): ActionRequest {
  return {
    ...chosen,
    dryRun: how.dryRun,
    ...(how.again && { again: true }),
    ...(how.reason.trim() !== '' && { reason: how.reason.trim() }),
    ...(how.cursor !== null && { cursor: how.cursor }),
  }
}

// ---------------------------------------------------------------------- portions

/** What became of letters so far, over all requests of one action. */
export interface Sum {
  counts: Record<Fate, number>
  /** The first ones, those that were skipped before others. */
  outcomes: Outcome[]
  /** Why letters were skipped, and how many for each reason, the most frequent first. */
  skips: { why: string; count: number }[]
  looked: number
  /** How many there are to look at, as far as it is known. */
  toLook: number
  /** Older ones that nobody looks at. */
  beyond: number
  /** Where the next request goes on; null: all is done. */
  cursor: string | null
}

const SHOWN_OUTCOMES = 200
const SHOWN_SKIPS = 20

export const nothingDone = (): Sum => ({
  counts: { would: 0, redriven: 0, discarded: 0, skipped: 0 },
  outcomes: [],
  skips: [],
  looked: 0,
  toLook: 0,
  beyond: 0,
  cursor: null,
})

/** Adds the answer of a request to what is known. */
export function addActed(sum: Sum, acted: Acted): Sum {
  const counts = { ...sum.counts }
  for (const fate of Object.keys(counts) as Fate[]) counts[fate] += acted.counts[fate]
  const skips = new Map(sum.skips.map((skip) => [skip.why, skip.count]))
  for (const { fate, why = '' } of acted.outcomes)
    if (fate === 'skipped') skips.set(why, (skips.get(why) ?? 0) + 1)
  return {
    counts,
    outcomes: [...sum.outcomes, ...acted.outcomes]
      .sort((a, b) => Number(b.fate === 'skipped') - Number(a.fate === 'skipped'))
      .slice(0, SHOWN_OUTCOMES),
    skips: [...skips]
      .map(([why, count]) => ({ why, count }))
      .sort((a, b) => b.count - a.count)
      .slice(0, SHOWN_SKIPS),
    looked: sum.looked + acted.scanned,
    toLook: sum.looked + acted.total,
    beyond: sum.beyond + acted.skipped,
    cursor: acted.nextCursor,
  }
}

/** Letters that something was, or would be, done about. */
export const affected = (sum: Sum): number => sum.counts.would + sum.counts.redriven + sum.counts.discarded

/** Runs an action, request by request, and reports the progress after each. */
export async function carryOut(
  post: (body: ActionRequest) => Promise<Acted>,
  chosen: Chosen,
  how: { dryRun: boolean; again: boolean; reason: string },
  onProgress: (sum: Sum) => void,
  signal: AbortSignal,
): Promise<Sum> {
  let sum = nothingDone()
  // Places are sent so many at a time, one request after another.
  const parts: Chosen[] =
    'places' in chosen ? portions(chosen.places).map((places) => ({ places })) : [chosen]
  for (const part of parts) {
    do {
      signal.throwIfAborted()
      sum = addActed(sum, await post(actionRequest(part, { ...how, cursor: sum.cursor })))
      onProgress(sum)
    } while (sum.cursor !== null)
  }
  return sum
}

function portions<T>(list: readonly T[]): T[][] {
  const parts: T[][] = []
  for (let i = 0; i < list.length; i += MOST_PLACES) parts.push(list.slice(i, i + MOST_PLACES))
  return parts
}

/** What is done, in words. */
export const WORDS: Record<Action, { verb: string; past: string; ing: string }> = {
  redrive: { verb: 'Redrive', past: 'redriven', ing: 'Redriving' },
  discard: { verb: 'Discard', past: 'discarded', ing: 'Discarding' },
}

/** A text in base64 as lines of hexadecimal digits and characters, at most so many bytes of it. */
export function hexDump(base64: string, most = 1024): { lines: string[]; bytes: number } {
  let bytes: string
  try {
    bytes = atob(base64)
  } catch {
    return { lines: [], bytes: 0 }
  }
  const lines: string[] = []
  for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
    const part = Array.from(bytes.slice(at, Math.min(at + 16, most)), (c) => c.charCodeAt(0))
    const hex = part.map((b) => b.toString(16).padStart(2, '0')).join(' ')
    const text = part.map((b) => (b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : '·')).join('')
    lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${text}`)
  }
  return { lines, bytes: bytes.length }
}
