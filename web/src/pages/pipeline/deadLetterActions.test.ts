import { describe, expect, it } from 'vitest'
import {
  actionRequest,
  addResult,
  affected,
  timeAfter,
  bulkFilter,
  runAction,
  hexDump,
  type DeadLetterQuery,
  listParams,
  MAX_DEAD_LETTERS,
  isFiltered,
  emptyTotals,
  refPath,
  readDeadLetterQuery,
  writeDeadLetterQuery,
} from './deadLetterActions'
import type { ActionResult, ActionRequest, DeadLetter, Outcome } from './shapes'

const all: DeadLetterQuery = {
  topic: '',
  state: '',
  workspaceId: '',
  from: '',
  to: '',
  reason: '',
  offset: 0,
}

const letter = (offset: number, at = '2026-11-21T10:00:00Z'): DeadLetter => ({
  topic: 'points.dlq',
  partition: 0,
  offset,
  at,
  origin: null,
  reason: 'unreadable',
  requestId: '',
  bytes: 3,
  workspaceId: null,
  holds: 'unreadable',
  state: 'open',
  mark: null,
})

const acted = (change: Partial<ActionResult>): ActionResult => ({
  outcomes: [],
  counts: { would: 0, redriven: 0, discarded: 0, skipped: 0 },
  scanned: 0,
  total: 0,
  skipped: 0,
  matched: 0,
  nextCursor: null,
  ...change,
})

describe('the filter in the URL', () => {
  it('selects open dead letters by default', () => {
    expect(readDeadLetterQuery(new URLSearchParams())).toEqual({ ...all, state: 'open' })
    expect(readDeadLetterQuery(new URLSearchParams('state=all'))).toEqual(all)
    expect(readDeadLetterQuery(new URLSearchParams('state=evil&from=x&offset=-1'))).toEqual({
      ...all,
      state: 'open',
    })
  })

  it('is unchanged after a round trip', () => {
    const q: DeadLetterQuery = {
      topic: 'points.dlq',
      state: 'redriven',
      workspaceId: '0192f0c1-5f3e-7c3a-8d7a-4f509b1c0a2d',
      from: '2026-11-21T10:00:00.000Z',
      to: '2026-11-21T11:00:00.000Z',
      reason: 'a&b=<script>',
      offset: 50,
    }
    expect(readDeadLetterQuery(new URLSearchParams(writeDeadLetterQuery(q).toString()))).toEqual(q)
    expect(writeDeadLetterQuery({ ...all, state: 'open' }).toString()).toBe('')
    expect(readDeadLetterQuery(writeDeadLetterQuery(all))).toEqual(all)
  })

  it('limits the offset to the dead letters that can be listed', () => {
    expect(readDeadLetterQuery(new URLSearchParams('offset=999999')).offset).toBe(MAX_DEAD_LETTERS - 50)
  })

  it('reports whether it differs from the default', () => {
    expect(isFiltered({ ...all, state: 'open' })).toBe(false)
    expect(isFiltered({ ...all, state: 'open', reason: 'x' })).toBe(true)
    expect(isFiltered(all)).toBe(true)
  })

  it('uses the parameter names of the API', () => {
    expect(listParams({ ...all, state: 'open', reason: 'x', offset: 50 })).toMatchObject({
      state: 'open',
      reason: 'x',
      limit: 50,
      offset: 50,
    })
  })
})

describe('a bulk action', () => {
  it('uses the filter of the list and excludes newer dead letters', () => {
    const before = '2026-11-21T12:00:00.000Z'
    expect(bulkFilter({ ...all, state: 'open', topic: 'points', reason: 'x' }, before)).toEqual({
      topics: ['points'],
      to: before,
      reasonContains: 'x',
      states: ['open'],
    })
    const earlier = '2026-11-21T11:00:00.000Z'
    expect(bulkFilter({ ...all, to: earlier }, before).to).toBe(earlier)
    expect(bulkFilter({ ...all, to: '2026-11-21T13:00:00.000Z' }, before).to).toBe(before)
  })

  it('includes all listed dead letters regardless of the local clock', () => {
    const letters = [letter(1, '2026-11-21T10:00:00Z'), letter(2, '2026-11-21T10:05:00Z')]
    expect(timeAfter(letters, Date.parse('2026-11-21T09:00:00Z'))).toBe('2026-11-21T10:05:00.001Z')
    expect(timeAfter(letters, Date.parse('2026-11-21T11:00:00Z'))).toBe('2026-11-21T11:00:00.000Z')
    expect(timeAfter([], 0)).toBe('1970-01-01T00:00:00.000Z')
  })

  it('omits an empty reason', () => {
    const how = { dryRun: true, again: false, reason: '  ', cursor: null }
    expect(actionRequest({ filter: {} }, how)).toEqual({ filter: {}, dryRun: true })
  })

  it('follows the cursor to the end and sums up the outcomes', async () => {
    const answers = [
      acted({
        counts: { would: 0, redriven: 2, discarded: 0, skipped: 1 },
        outcomes: [
          { ...letter(1), fate: 'redriven' },
          { ...letter(2), fate: 'skipped', why: 'it was discarded already' },
        ],
        scanned: 3,
        total: 5,
        nextCursor: 'next',
      }),
      acted({ counts: { would: 0, redriven: 2, discarded: 0, skipped: 0 }, scanned: 2, total: 2 }),
    ]
    const sent: ActionRequest[] = []
    const reported: string[] = []
    const sum = await runAction(
      (body) => {
        sent.push(body)
        return Promise.resolve(answers[sent.length - 1] ?? acted({}))
      },
      { filter: { topics: ['points'] } },
      { dryRun: false, again: false, reason: 'mended' },
      (so) => reported.push(`${so.checked}/${so.toCheck}`),
      new AbortController().signal,
    )
    expect(sent.map((body) => body.cursor)).toEqual([undefined, 'next'])
    expect(sent.every((body) => body.reason === 'mended')).toBe(true)
    expect(reported).toEqual(['3/5', '5/5'])
    expect(affected(sum)).toBe(4)
    expect(sum.counts.skipped).toBe(1)
    expect(sum.skips).toEqual([{ why: 'it was discarded already', count: 1 }])
    expect(sum.outcomes[0]?.fate).toBe('skipped')
  })

  it('sends at most a hundred dead letters per request', async () => {
    const sent: number[] = []
    await runAction(
      (body) => {
        sent.push(body.places?.length ?? 0)
        return Promise.resolve(acted({}))
      },
      { places: Array.from({ length: 250 }, (_, i) => ({ topic: 'points.dlq', partition: 0, offset: i })) },
      { dryRun: true, again: false, reason: '' },
      () => undefined,
      new AbortController().signal,
    )
    expect(sent).toEqual([100, 100, 50])
  })

  it('stops when it is aborted', async () => {
    const stop = new AbortController()
    let requests = 0
    const running = runAction(
      () => {
        requests++
        stop.abort()
        return Promise.resolve(acted({ nextCursor: 'next' }))
      },
      { filter: {} },
      { dryRun: true, again: false, reason: '' },
      () => undefined,
      stop.signal,
    )
    await expect(running).rejects.toThrow()
    expect(requests).toBe(1)
  })

  it('keeps a bounded number of outcomes', () => {
    const outcomes = Array.from({ length: 1000 }, (_, i): Outcome => ({
      ...letter(i),
      fate: 'skipped',
      why: `reason ${i}`,
    }))
    const sum = addResult(addResult(emptyTotals(), acted({ outcomes })), acted({ outcomes }))
    expect(sum.outcomes).toHaveLength(200)
    expect(sum.skips).toHaveLength(20)
  })
})

describe('a dead letter', () => {
  it('has a unique path', () => {
    expect(refPath({ topic: 'points.dlq', partition: 3, offset: 17 })).toBe('/points.dlq/3/17')
    expect(refPath({ topic: '../x', partition: 0, offset: 0 })).toBe('/..%2Fx/0/0')
  })

  it('is shown as a hex dump if it cannot be decoded', () => {
    const { lines, bytes } = hexDump(btoa('broken \u0000\u00ff<script>'))
    expect(bytes).toBe(17)
    expect(lines[0]).toBe('000000  62 72 6f 6b 65 6e 20 00 ff 3c 73 63 72 69 70 74  broken ··<script')
    expect(lines).toHaveLength(2)
    expect(hexDump(btoa('x'.repeat(5000)), 32).lines).toHaveLength(2)
    expect(hexDump('no base64!').lines).toEqual([])
  })
})
