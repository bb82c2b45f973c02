import { expect, it } from 'vitest'

import { isIdle } from './activity'

it('counts a page as unattended a minute after the last touch', () => {
  const now = Date.now()
  expect(isIdle(now + 30_000)).toBe(false)
  expect(isIdle(now + 61_000)).toBe(true)
})
