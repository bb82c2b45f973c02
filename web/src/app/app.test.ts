import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { ApiError } from '@/api/client'
import { safeNext } from '@/pages/login/next'
import { explain, fieldError } from '@/ui/ErrorNotice'

import { waitUntilAvailable, pollDelays } from './availability'
import { findCommands, type Command } from './commands'
import { retry, retryDelay } from './queries'

describe('the redirect after login', () => {
  it.each([
    ['/keys?id=1', '/keys?id=1'],
    ['/', '/'],
    [null, '/'],
    ['', '/'],
    ['//evil.example', '/'],
    ['/\\evil.example', '/'],
    ['https://evil.example', '/'],
    ['javascript:alert(1)', '/'],
  ])('%s redirects to %s', (next, to) => expect(safeNext(next)).toBe(to))
})

describe('the command palette', () => {
  const command = (name: string, keywords = ''): Command => ({
    id: name,
    name,
    keywords,
    group: 'Pages',
    run: () => undefined,
  })
  const all = [
    command('Overview', 'health'),
    command('Audit log'),
    command('Log out'),
    command('Workspaces', 'plans'),
  ]
  const names = (text: string) => findCommands(all, text).map((c) => c.name)

  it('lists all commands for an empty query', () => expect(names('  ')).toHaveLength(4))
  it('lists prefix matches first', () => expect(names('log')).toEqual(['Log out', 'Audit log']))
  it('matches keywords', () => expect(names('HEALTH')).toEqual(['Overview']))
  it('requires every word', () => expect(names('log health')).toEqual([]))
  it('matches special characters literally', () => expect(names('.*(')).toEqual([]))
})

describe('error messages', () => {
  it('name the field and the allowed values', () => {
    const error = new ApiError(422, {
      message: 'Invalid',
      details: { field: 'plan', reason: 'is unknown', allowed: ['pro'] },
    })
    expect(explain(error)).toMatchObject({ title: 'Invalid', advice: 'plan: is unknown. Allowed: pro' })
    expect(fieldError(error, 'plan')).toBe('is unknown. Allowed: pro')
    expect(fieldError(error, 'name')).toBeUndefined()
  })
  it('name the field once', () => {
    const error = new ApiError(422, {
      message: 'mode: is unknown',
      details: { field: 'mode', reason: 'is unknown', allowed: ['extract'] },
    })
    expect(explain(error)).toMatchObject({ title: 'mode: is unknown', advice: 'Allowed: extract' })
  })
  it('contain the retry delay', () => {
    expect(explain(new ApiError(503, { message: 'Away', retryAfter: 5 })).advice).toContain('5 s')
  })
  it('have a title for all other errors', () => {
    for (const status of [0, 400, 401, 403, 404, 409, 429, 500])
      expect(explain(new ApiError(status, {})).title).not.toBe('')
    expect(explain(new TypeError('x is not a function')).title).not.toContain('x is not')
  })
  it('show invisible characters', () => {
    expect(explain(new ApiError(409, { message: 'No \u202Egnp' })).title).toBe('No [U+202E]gnp')
  })
})

it('retries reads only after temporary errors, with the delay that the server requests', () => {
  expect([0, 502, 503, 504].map((status) => retry(0, new ApiError(status, {})))).toEqual([
    true,
    true,
    true,
    true,
  ])
  expect([400, 401, 404, 429, 500].map((status) => retry(0, new ApiError(status, {})))).toEqual(
    Array(5).fill(false),
  )
  expect(retry(3, new ApiError(503, {}))).toBe(false)
  expect(retryDelay(1, new ApiError(503, { retryAfter: 7 }))).toBe(7000)
  expect(retryDelay(1, new ApiError(503, {}))).toBe(2000)
})

describe('an unavailable server', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('is polled at increasing intervals until it responds', async () => {
    const polls: number[] = []
    const began = Date.now()
    const answers = () => {
      polls.push(Date.now() - began)
      return polls.length < 7 ? Promise.reject(new TypeError('Failed to fetch')) : Promise.resolve(true)
    }
    const back = waitUntilAvailable(answers, pollDelays(false), new AbortController().signal)
    await vi.advanceTimersByTimeAsync(120_000)
    expect(await back).toBe(true)
    expect(polls).toEqual([1_000, 3_000, 7_000, 15_000, 30_000, 45_000, 60_000])
  })

  it('is not polled after the user leaves the page', async () => {
    const stop = new AbortController()
    const answers = vi.fn(() => Promise.resolve(false))
    const back = waitUntilAvailable(answers, pollDelays(false), stop.signal)
    await vi.advanceTimersByTimeAsync(3_500)
    stop.abort()
    expect(await back).toBe(false)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(answers).toHaveBeenCalledTimes(2)
  })

  it('is polled after 30 seconds if a reload failed', () => expect(pollDelays(true)).toEqual([30_000]))
})
