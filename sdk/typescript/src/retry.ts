/** Decides whether and when a request is sent again. Nothing here waits. */

import {
  APIError,
  ConflictError,
  type LivegraphError,
  RateLimitedError,
  TransportError,
  UnavailableError,
} from './errors.js'

/** How often failed requests are sent again. */
export interface Retry {
  /**
   * The first wait in milliseconds, by default 1,000. It doubles with each attempt, and each wait is multiplied by a
   * random number between 0.5 and 1.5. If the server sends `Retry-After`, the wait is exactly that time.
   */
  firstMs: number
  /** The longest wait before the multiplication, by default 30,000. */
  maxMs: number
  /** The milliseconds after which no further attempt begins, by default 60,000. 0: there is one attempt. */
  totalMs: number
  /** The number of attempts, by default 10. */
  maxAttempts: number
}

export const defaultRetry: Retry = { firstMs: 1000, maxMs: 30_000, totalMs: 60_000, maxAttempts: 10 }

/** The attempts of a request that fails with 500: a defect of the server rarely disappears by waiting. */
const maxInternalErrors = 5

/** The attempts of one request. */
export class Attempts {
  readonly #retry: Retry
  readonly #clock: () => number
  readonly #random: () => number
  readonly #deadline: number
  #wait: number
  #count = 0
  #internal = 0

  constructor(
    retry: Retry,
    clock: () => number = () => performance.now(),
    random: () => number = Math.random,
  ) {
    this.#retry = retry
    this.#clock = clock
    this.#random = random
    this.#deadline = clock() + retry.totalMs
    this.#wait = retry.firstMs
  }

  /** Returns the timeout of the next attempt: at most longestMs, and the time that is left. */
  timeout(longestMs: number): number {
    const left = this.#deadline - this.#clock()
    return left > 0 ? Math.min(longestMs, left) : longestMs
  }

  /** Returns the milliseconds until the next attempt, or undefined if there is none. */
  nextWait(error: LivegraphError, repeatable: boolean): number | undefined {
    this.#count++
    if (!this.#isTransient(error, repeatable) || this.#count >= this.#retry.maxAttempts) return undefined
    let wait = error instanceof APIError ? error.retryAfterMs : undefined
    if (wait === undefined) {
      wait = this.#wait * (0.5 + this.#random())
      this.#wait = Math.min(2 * this.#wait, this.#retry.maxMs)
    }
    return this.#clock() + wait < this.#deadline ? wait : undefined
  }

  #isTransient(error: LivegraphError, repeatable: boolean): boolean {
    if (error instanceof TransportError) return repeatable || !error.sent
    if (error instanceof RateLimitedError) return true // refused before it was executed
    // With Retry-After, the server still processes the first attempt with the same idempotency key.
    if (error instanceof ConflictError) return repeatable && error.retryAfterMs !== undefined
    if (error instanceof APIError && error.status === 500) {
      this.#internal++
      return repeatable && this.#internal < maxInternalErrors
    }
    return repeatable && error instanceof UnavailableError
  }
}
