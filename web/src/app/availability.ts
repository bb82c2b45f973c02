// Waits for an unavailable server.

import { sleep } from '@/api/sleep'

/** Milliseconds before each poll. The last value is used for all further polls. */
export type PollDelays = readonly [number, ...number[]]

/**
 * Returns the delays before each poll. If a reload did not help, the next one follows after a long delay, so that the
 * window does not flicker when the page cannot be loaded.
 */
export const pollDelays = (reloaded: boolean): PollDelays =>
  reloaded ? [30_000] : [1_000, 2_000, 4_000, 8_000, 15_000]

/** Polls until the server is available and returns true. Returns false if the signal is aborted. */
export async function waitUntilAvailable(
  isAvailable: () => Promise<boolean>,
  delays: PollDelays,
  signal: AbortSignal,
): Promise<boolean> {
  for (let i = 0; ; i++) {
    await sleep(delays[Math.min(i, delays.length - 1)] ?? delays[0], signal)
    if (signal.aborted) return false
    if (await isAvailable().catch(() => false)) return !signal.aborted
  }
}
