import { expect, it } from 'vitest'

import { isIdle } from './activity'

it('reports the page as idle one minute after the last user activity', () => {
  const now = Date.now()
  expect(isIdle(now + 30_000)).toBe(false)
  expect(isIdle(now + 61_000)).toBe(true)
})
