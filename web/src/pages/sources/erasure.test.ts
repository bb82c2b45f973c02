import { describe, expect, it } from 'vitest'

import { type Erasure, erasureText, NOTHING, readErasure } from './erasure'

const read = (e: Partial<Erasure>) => readErasure({ ...NOTHING, ...e }, 'Europe/Berlin')

describe('the points to delete', () => {
  it.each<Partial<Erasure>>([
    {},
    { metrics: 'all' },
    { times: 'all' },
    { metric: 'temperature', from: '2026-03-01T00:00', to: '2026-03-02T00:00' },
    { metrics: 'one', times: 'all' },
    { metrics: 'all', times: 'between' },
    { metrics: 'all', times: 'between', from: '2026-03-01T00:00' },
    { metrics: 'all', times: 'between', to: '2026-03-01T00:00' },
    { metrics: 'all', times: 'before', from: '2026-03-01T00:00' },
    { metrics: 'all', times: 'since', to: '2026-03-01T00:00' },
    { metrics: 'all', times: 'before', to: '2026-03' },
    { metrics: 'all', times: 'between', from: '2026-03-02T00:00', to: '2026-03-02T00:00' },
  ])('are none if the selection is incomplete: %o', (e) => expect(read(e).query).toBeNull())

  it('are all points if everything is selected', () =>
    expect(read({ metrics: 'all', times: 'all' }).query).toEqual({ metric: '', from: '', to: '' }))

  it('are limited by the selected bounds and not by other entered times', () => {
    const both = { metrics: 'one', metric: 'a', from: '2026-03-01T00:00', to: '2026-03-02T00:00' } as const
    expect(read({ ...both, times: 'between' }).query).toEqual({
      metric: 'a',
      from: '2026-02-28T23:00:00.000Z',
      to: '2026-03-01T23:00:00.000Z',
    })
    expect(read({ ...both, times: 'before' }).query).toMatchObject({
      from: '',
      to: '2026-03-01T23:00:00.000Z',
    })
    expect(read({ ...both, times: 'since' }).query).toMatchObject({
      from: '2026-02-28T23:00:00.000Z',
      to: '',
    })
    expect(read({ ...both, metrics: 'all', times: 'all' }).query).toEqual({ metric: '', from: '', to: '' })
  })

  it('are described in words', () => {
    const zone = 'UTC'
    const [from, to] = ['2026-03-01T00:00:00.000Z', '2026-03-02T00:00:00.000Z']
    expect(erasureText({ metric: '', from: '', to: '' }, zone)).toBe('every metric, of all time')
    expect(erasureText({ metric: 'a\u202eb', from, to: '' }, zone)).toBe(
      'metric a[U+202E]b, from 2026-03-01 00:00:00 on',
    )
    expect(erasureText({ metric: '', from, to }, zone)).toBe(
      'every metric, from 2026-03-01 00:00:00 up to 2026-03-02 00:00:00, not included',
    )
  })
})
