// Waits for an unavailable server.

import { sleep } from '@/api/sleep'

/** Milliseconds before each look; the last one is that of all further ones. */
export type Waits = readonly [number, ...number[]]

/**
 * How long is waited before each look. Where a reload did not help the next one is to be long after it: whatever keeps
 * the page from being loaded does not make its window flicker.
 */
export const waitsOf = (reloaded: boolean): Waits =>
  reloaded ? [30_000] : [1_000, 2_000, 4_000, 8_000, 15_000]

/** Looks until the server answers: true; false: it was not wanted any more. */
export async function onceBack(
  answers: () => Promise<boolean>,
  waits: Waits,
  stop: AbortSignal,
): Promise<boolean> {
  for (let i = 0; ; i++) {
    await sleep(waits[Math.min(i, waits.length - 1)] ?? waits[0], stop)
    if (stop.aborted) return false
    if (await answers().catch(() => false)) return !stop.aborted
  }
}
