import { expect, it } from 'vitest'

import { unattended } from './activity'

it('counts a page as unattended a minute after the last touch', () => {
  const now = Date.now()
  expect(unattended(now + 30_000)).toBe(false)
  expect(unattended(now + 61_000)).toBe(true)
})
