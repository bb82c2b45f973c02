// Requests that are done once however often they are sent: each with an Idempotency-Key, which stays that of its content
// until it is known what came of it.

import { uuid } from './uuid'

/** Requests whose outcome is not known and that are remembered; of more, the oldest are forgotten. */
export const MAX_UNSETTLED = 100

/** Statuses that say what came of the request with this key, and not only that a try was not taken up. */
const SETTLED: readonly number[] = [400, 404, 409, 410, 412, 413, 415, 422]

const unsettled = new Map<string, string>()

/** Sends a request with the key of its content. */
export async function once<T>(content: unknown, send: (key: string) => Promise<T>): Promise<T> {
  const text = JSON.stringify(content)
  const key = unsettled.get(text) ?? uuid()
  // Insert again, so that it is the newest.
  unsettled.delete(text)
  unsettled.set(text, key)
  for (const oldest of unsettled.keys()) {
    if (unsettled.size <= MAX_UNSETTLED) break
    unsettled.delete(oldest)
  }
  try {
    const result = await send(key)
    unsettled.delete(text)
    return result
  } catch (error) {
    if (settles(error)) unsettled.delete(text)
    throw error
  }
}

/** Reports whether the outcome is known by an error. A first try with the key that still runs has none yet. */
function settles(error: unknown): boolean {
  const { status, details } = error as { status?: unknown; details?: { reason?: unknown } }
  return typeof status === 'number' && SETTLED.includes(status) && details?.reason !== 'still_running'
}
