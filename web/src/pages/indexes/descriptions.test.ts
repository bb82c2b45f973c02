import { describe, expect, it } from 'vitest'

import type { IndexStatus, Installed, SearchIndex } from './types'
import { buildingOf, indexedShare, liveOf, progressText, statusText, isRebuilding } from './descriptions'

const model = { name: 'all-MiniLM-L6-v2', dimensions: 384 }
const status = (more: Partial<IndexStatus>): IndexStatus => ({
  status: 'ready',
  model,
  nodes: { total: 10, indexed: 10, pending: 0 },
  lag: { events: 0, seconds: 0 },
  lastIndexedAt: null,
  text: { indexed: 10, filling: false, lag: { events: 0, seconds: 0 } },
  links: { mode: 'documents', pending: 0 },
  reindex: { running: false, done: 0, total: 0, etaSeconds: null },
  ...more,
})
const index = (state: SearchIndex['state']): SearchIndex => ({
  id: state,
  state,
  cause: 'asked',
  model,
  createdAt: '2026-11-21T07:40:08Z',
  switchedAt: null,
  done: 5,
  total: 12_000,
  etaSeconds: null,
})

describe('the status of an index', () => {
  it('has a description', () => {
    expect(statusText(status({}))).toBe('All nodes are found.')
    expect(statusText(status({ status: 'indexing', lag: { events: 1, seconds: 4 } }))).toContain('1 change')
    expect(statusText(status({ status: 'degraded', model: null }))).toBe('No index exists yet.')
    expect(statusText(status({ status: 'degraded', lag: { events: 3, seconds: 90 } }))).toContain(
      '1 min 30 s',
    )
  })

  it('has no indexed share without nodes, and a share of one at most', () => {
    expect(indexedShare(status({ nodes: { total: 0, indexed: 0, pending: 0 } }))).toBeNull()
    expect(indexedShare(status({ nodes: { total: 10, indexed: 12, pending: 0 } }))).toBe(1)
  })
})

describe('a re-index', () => {
  const done = {
    id: 'r',
    requestedBy: 'operator',
    requestedAt: '',
    model,
    done: 1,
    total: 1,
    etaSeconds: null,
    finishedAt: '',
  }
  const installed = (indexes: SearchIndex[], last: Installed['last'] = null): Installed => ({ indexes, last })

  it('is in progress from the request to the end', () => {
    expect(isRebuilding(installed([index('live')]))).toBe(false)
    expect(isRebuilding(installed([index('live')], { ...done, state: 'queued' }))).toBe(true)
    expect(isRebuilding(installed([index('live'), index('building')]))).toBe(true)
    expect(isRebuilding(installed([index('live')], { ...done, state: 'done' }))).toBe(false)
  })

  it('distinguishes the live and the building index', () => {
    const both = installed([index('building'), index('live')])
    expect([liveOf(both)?.id, buildingOf(both)?.id]).toEqual(['live', 'building'])
  })

  it('shows the remaining time if it is known', () => {
    expect(progressText(index('building'))).toBe('5 of 12,000 nodes')
    expect(progressText({ ...index('building'), etaSeconds: 75.4 })).toBe(
      '5 of 12,000 nodes, about 1 min 15 s left',
    )
  })
})
