import { afterEach, expect, it, vi } from 'vitest'

afterEach(() => {
  vi.useRealTimers()
})

it('reports the page as idle one minute after the last user activity', async () => {
  const loaded = new Date('2026-11-21T07:40:08Z').getTime()
  vi.useFakeTimers({ now: loaded, toFake: ['Date'] })
  vi.resetModules() // another file may have loaded the module long ago
  const { isIdle } = await import('./activity')
  expect(isIdle(loaded + 59_999)).toBe(false)
  expect(isIdle(loaded + 60_001)).toBe(true)
})
