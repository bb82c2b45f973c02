import { describe, expect, it } from 'vitest'

import type { Workspace } from '@/api'
import { filterWorkspaces } from '@/app/choices'

import { queryOf } from './audit/filter'
import { scopesText, searchText } from './keys/keys'
import {
  appended,
  fromNow,
  fromPast,
  type Sample,
  type Overview,
  type Past,
  shownSpan,
  waitingRecords,
  withGaps,
  withoutSources,
} from './overview/model'
import { bodyOfChange, bodyOfNew, draftOf, NEW, problemsOf, parseWhole } from './workspaces/limits'

const workspace: Workspace = {
  id: 'w1',
  name: 'plant',
  plan: 'enterprise',
  mode: 'live',
  perMinute: 500,
  perDay: null,
  limits: { requestsPerMinute: 500, requestsPerDay: null, sources: 10_000, series: 1_000_000 },
  retentionDays: 30,
  sources: 3,
  series: 9,
  createdAt: '2026-11-21T00:00:00Z',
  updatedAt: '2026-11-21T00:00:00Z',
}

describe('the form of a workspace', () => {
  it.each([
    ['', null],
    ['  ', null],
    ['5000', 5000],
    ['10,000', 10_000],
    ["1'000 000", 1_000_000],
    ['-1', undefined],
    ['1.5', undefined],
    ['1e3', undefined],
    ['99999999999999999', undefined],
  ])('%j is parsed as %s', (typed, n) => expect(parseWhole(typed)).toBe(n))

  it('sends the entered fields of a new workspace, and rate limits only for enterprise', () => {
    expect(bodyOfNew({ ...NEW, name: 'x', perMinute: '7', maxSources: '20' })).toEqual({
      name: 'x',
      plan: 'starter',
      mode: 'live',
      maxSources: 20,
    })
    expect(bodyOfNew({ ...NEW, name: 'x', plan: 'enterprise', perMinute: '7' })).toMatchObject({
      perMinute: 7,
    })
  })

  it('sends only the changed fields', () => {
    expect(bodyOfChange(workspace, draftOf(workspace))).toEqual({})
    expect(
      bodyOfChange(workspace, { ...draftOf(workspace), name: 'hall', retentionDays: '', perMinute: '' }),
    ).toEqual({
      name: 'hall',
      retentionDays: null,
      perMinute: null,
    })
    expect(bodyOfChange(workspace, { ...draftOf(workspace), plan: 'pro', perMinute: '9' })).toEqual({
      plan: 'pro',
    })
    expect(bodyOfChange(workspace, { ...draftOf(workspace), maxSeries: '', maxSources: '5' })).toEqual({
      maxSources: 5,
    })
  })

  it('reports errors by field', () => {
    expect(problemsOf(NEW)).toEqual({ name: 'Enter a name' })
    expect(Object.keys(problemsOf({ ...NEW, name: 'x', perDay: 'many', retentionDays: '0' }))).toEqual([
      'perDay',
      'retentionDays',
    ])
  })
})

it('finds workspaces by name or id', () => {
  const other = { ...workspace, id: 'w2', name: 'Attic', sources: 10 }
  const ids = (text: string) => filterWorkspaces([workspace, other], text).map((w) => w.id)
  expect(ids(' ')).toEqual(['w1', 'w2'])
  expect(ids('ATT')).toEqual(['w2'])
  expect(ids('w1')).toEqual(['w1'])
})

describe('keys', () => {
  it('are searched by the visible prefix, and the secret part is not sent', () => {
    expect(searchText('  Gateway ')).toBe('Gateway')
    expect(searchText('lg_live_wxyzTHEREST')).toBe('lg_live_wxyz')
    expect(searchText('LG_TEST_abcd0123456789')).toBe('LG_TEST_abcd')
  })

  it('show a summary of their scopes', () => {
    expect(scopesText([])).toBe('none')
    expect(scopesText(['admin', 'read:nodes'])).toBe('admin')
    expect(scopesText(['read:nodes', 'read:edges'])).toBe('read:nodes, read:edges')
    expect(
      scopesText([
        'read:nodes',
        'write:nodes',
        'read:edges',
        'write:edges',
        'read:livedata',
        'write:livedata',
      ]),
    ).toBe('all but admin')
  })
})

describe('the query of the audit log', () => {
  it('covers the last day by default', () => {
    expect(queryOf(new URLSearchParams(), 86_400_000)).toMatchObject({
      from: '1970-01-01T00:00:00.000Z',
      keyId: null,
    })
  })
  it('covers the range in the URL if it is valid', () => {
    const from = (range: string) => queryOf(new URLSearchParams({ range }), 10 * 86_400_000)['from']
    expect(from('7d')).toBe('1970-01-04T00:00:00.000Z')
    expect(from('long')).toBe(from('1d'))
    expect(from('')).toBeUndefined()
  })
  it('contains the filters in the URL', () => {
    const query = queryOf(new URLSearchParams('range=&status=4xx&route= /api/* '), 0)
    expect(query).toMatchObject({ status: '4xx', route: '/api/*' })
    expect(query).not.toHaveProperty('from')
  })
})

describe('the overview', () => {
  it('shows the first steps only if all workspaces are known and none has a source', () => {
    const empty = { ...workspace, sources: 0 }
    expect(withoutSources([empty, empty], 2)).toBe(true)
    expect(withoutSources([], 0)).toBe(true)
    expect(withoutSources([empty, { ...workspace, sources: 1 }], 2)).toBe(false)
    expect(withoutSources([empty, empty], 3)).toBe(false)
  })

  const moment = (at: number): Sample => ({
    at,
    requests: 0,
    errors: 0,
    accepted: 0,
    visible: null,
    lag: 0,
    p50: null,
    p95: null,
  })

  it('keeps a limited number of samples without duplicates', () => {
    let moments: readonly Sample[] = []
    for (let at = 1; at <= 700; at++) moments = appended(moments, moment(at))
    expect(moments).toHaveLength(600)
    expect(moments[0]?.at).toBe(101)
    expect(appended(moments, moment(700))).toBe(moments)
    expect(appended(moments, moment(5000))).toHaveLength(1)
  })

  it('has a gap where data is missing', () => {
    const known = [0, 5, 10, 11, 12, 60, 61].map(moment)
    const shown = withGaps(known)
    expect(shown.filter((m) => m.requests === null).map((m) => m.at)).toEqual([36])
    expect(shown.filter((m) => m.requests !== null)).toEqual(known)
  })

  it('shows the lag of the slowest consumer in seconds', () => {
    const consumers = [
      { topic: 'graph.events', group: 'embeddings', lagRecords: 9, lagSeconds: 4 },
      { topic: 'graph.events', group: 'lexical', lagRecords: 20, lagSeconds: 1 },
      { topic: 'points', group: 'points', lagRecords: 100, lagSeconds: 0.5 },
    ]
    const now = { at: '1970-01-01T00:01:00Z', rates: {}, requests: [], consumers, freshness: null }
    expect(fromNow(now as unknown as Overview).lag).toBe(4)
    // A record that two consumers of a topic have not read counts once.
    expect(waitingRecords(now as unknown as Overview)).toBe(120)
    expect(waitingRecords({ ...now, consumers: [] } as unknown as Overview)).toBe(0)
    const past = { at: now.at, lagRecords: 100, lagSeconds: 4, freshness: null }
    expect(fromPast(past as unknown as Past).lag).toBe(4)
  })

  it('shows at least two minutes', () => {
    expect(shownSpan([])).toBe(120)
    expect(shownSpan([moment(0), moment(300)])).toBe(300)
    expect(shownSpan([moment(0), moment(3000)])).toBe(600)
  })

  it('parses an event of a process that does not write points', () => {
    const event = {
      at: '1970-01-01T00:01:00Z',
      rates: { requests: 3, pointsAccepted: 2, pointsVisible: null },
      requests: [{ status: '5xx', perSecond: 1 }],
      consumers: [],
      freshness: null,
    } as unknown as Overview
    expect(fromNow(event)).toEqual({
      at: 60,
      requests: 3,
      errors: 1,
      accepted: 2,
      visible: null,
      lag: null,
      p50: null,
      p95: null,
    })
  })
})
