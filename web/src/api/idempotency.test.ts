import { describe, expect, it } from 'vitest'

import { ApiError } from './client'
import { MAX_PENDING_KEYS, sendIdempotent } from './idempotency'
import { uuid } from './uuid'

/** Sends a body and returns its idempotency key. */
async function keyOf(content: unknown, error?: ApiError | Error): Promise<string> {
  let used = ''
  const sent = sendIdempotent(content, (key) => {
    used = key
    return error ? Promise.reject(error) : Promise.resolve()
  })
  await sent.catch(() => undefined)
  return used
}

const failed = (status: number, reason?: string) =>
  new ApiError(status, { ...(reason ? { details: { reason } } : {}) })

describe('the idempotency key', () => {
  it.each([0, 200, 401, 403, 408, 429, 500, 502, 503, 504])(
    'is reused while the outcome is unknown: %d',
    async (status) => {
      const content = ['unknown', status]
      const first = await keyOf(content, failed(status))
      expect(await keyOf(content, failed(503))).toBe(first)
      expect(await keyOf(content)).toBe(first)
      expect(await keyOf(content)).not.toBe(first)
    },
  )

  it('is reused while the first attempt is running and after an abort', async () => {
    const first = await keyOf('x', failed(409, 'still_running'))
    expect(await keyOf('x', new DOMException('', 'AbortError'))).toBe(first)
    expect(await keyOf('x')).toBe(first)
  })

  it.each([400, 404, 409, 422])('is replaced after the request was refused: %d', async (status) => {
    const first = await keyOf(['refused', status], failed(status))
    expect(await keyOf(['refused', status])).not.toBe(first)
  })

  it('depends only on the content', async () => {
    const first = await keyOf({ name: 'a' }, failed(503))
    expect(await keyOf({ name: 'b' }, failed(503))).not.toBe(first)
    expect(await keyOf({ name: 'a' })).toBe(first)
  })

  it('is discarded when too many keys are pending', async () => {
    const first = await keyOf('first', failed(503))
    for (let i = 0; i < MAX_PENDING_KEYS; i++) await keyOf(['another', i], failed(503))
    expect(await keyOf('first')).not.toBe(first)
  })
})

it('generates unique version 4 UUIDs', () => {
  const ids = Array.from({ length: 500 }, uuid)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect(new Set(ids).size).toBe(500)
})
