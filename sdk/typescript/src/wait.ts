/** Waits for times and for events of the same program. */

/** The longest wait of a timer. setTimeout does not wait at all for a longer one. */
export const maxTimerMs = 2 ** 31 - 1

/**
 * Waits for a time.
 *
 * @throws the reason of the signal when it is aborted
 */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) {
      reject(reasonOf(signal))
      return
    }
    const abort = (): void => {
      clearTimeout(timer)
      if (signal) reject(reasonOf(signal))
    }
    const timer = setTimeout(
      () => {
        signal?.removeEventListener('abort', abort)
        resolve()
      },
      Math.min(ms, maxTimerMs),
    )
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Returns the reason of an aborted signal as an error. */
export function reasonOf(signal: AbortSignal): Error {
  const reason: unknown = signal.reason
  return reason instanceof Error ? reason : new DOMException(String(reason), 'AbortError')
}

/** Wakes all that wait for a change. */
export class Condition {
  #waiters: (() => void)[] = []

  /** Wakes all waiters. They must check what has changed. */
  notify(): void {
    const waiters = this.#waiters
    this.#waiters = []
    for (const wake of waiters) wake()
  }

  /** Waits for the next call of notify, or for a time. */
  wait(ms?: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === undefined ? undefined : setTimeout(resolve, Math.min(ms, maxTimerMs))
      this.#waiters.push(() => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
