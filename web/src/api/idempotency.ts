// Idempotent requests: each has an Idempotency-Key, which stays the same for the same content until the outcome is
// known.

import { uuid } from './uuid'

/** The maximum number of remembered requests with an unknown outcome. The oldest ones are removed first. */
export const MAX_PENDING_KEYS = 100

/**
 * Statuses that report the outcome of the request with this key. Other errors only report that this attempt was
 * refused.
 */
const FINAL_STATUSES: readonly number[] = [400, 404, 409, 410, 412, 413, 415, 422]

const pendingKeys = new Map<string, string>()

/** Sends a request with the key of its content. */
export async function sendIdempotent<T>(content: unknown, send: (key: string) => Promise<T>): Promise<T> {
  const text = JSON.stringify(content)
  const key = pendingKeys.get(text) ?? uuid()
  // Reinsert the key, so that it is the newest.
  pendingKeys.delete(text)
  pendingKeys.set(text, key)
  for (const oldest of pendingKeys.keys()) {
    if (pendingKeys.size <= MAX_PENDING_KEYS) break
    pendingKeys.delete(oldest)
  }
  try {
    const result = await send(key)
    pendingKeys.delete(text)
    return result
  } catch (error) {
    if (isFinal(error)) pendingKeys.delete(text)
    throw error
  }
}

/** Reports whether an error is the final outcome. It is not while the first attempt with the key still runs. */
function isFinal(error: unknown): boolean {
  const { status, details } = error as { status?: unknown; details?: { reason?: unknown } }
  return typeof status === 'number' && FINAL_STATUSES.includes(status) && details?.reason !== 'still_running'
}
