/** The queue of a writer. Nothing here waits, or does input or output. */

import { APIError, RejectedError, WriteError } from './errors.js'
import type { IngestAnswer, NewPoint, PointValue, Tags } from './types.js'

/** The bounds of a writer. */
export interface Limits {
  /** The number of points that the writer holds, in the queue and in the request that is being sent: 50,000. */
  maxPoints: number
  /** The number of points of a request: 5,000. */
  batchSize: number
  /** The milliseconds after which points are sent, even if they are fewer than batchSize: 1,000. */
  intervalMs: number
}

export const defaultLimits: Limits = { maxPoints: 50_000, batchSize: 5000, intervalMs: 1000 }

/** A point for a writer. */
export interface WriterPoint {
  /** The name of the source, which must exist. */
  source: string
  metric: string
  /** A finite number, a boolean (stored as 0 or 1) or a string of up to 1 KiB. */
  value: PointValue
  tags?: Tags
  /** By default, the time of the call. */
  time?: Date
  /** Instead of `time`, the microseconds since 1970. */
  timeUs?: number
}

interface Queued {
  readonly at: number
  readonly point: NewPoint
}

/** Points in the order in which they were written, and how many of them are settled: stored or reported. */
export class Buffer {
  readonly #limits: Limits
  readonly #clock: () => number
  readonly #now: () => number
  #queue: Queued[] = []
  #last = 0
  #sending = 0
  #flushUntil = 0
  #written = 0
  #settled = 0

  constructor(limits: Limits, clock: () => number = () => performance.now(), now: () => number = Date.now) {
    const { maxPoints, batchSize, intervalMs } = limits
    if (!(batchSize > 0 && batchSize <= maxPoints && intervalMs > 0)) {
      throw new RangeError('0 < batchSize <= maxPoints and 0 < intervalMs are required')
    }
    this.#limits = limits
    this.#clock = clock
    this.#now = now
  }

  /** Whether no point can be added until some are settled. */
  get isFull(): boolean {
    return this.#queue.length + this.#sending >= this.#limits.maxPoints
  }

  /** The number of points that are settled. */
  get settled(): number {
    return this.#settled
  }

  /**
   * Returns a point with a timestamp in microseconds.
   *
   * Without a time, it is now, and at least a microsecond after the previous such point: points of a series with the
   * same timestamp would replace each other.
   *
   * @throws TypeError if the value or the time cannot be stored
   */
  point({ source, metric, value, tags, time, timeUs }: WriterPoint): NewPoint {
    if (!['number', 'boolean', 'string'].includes(typeof value)) {
      throw new TypeError(`a value of type ${typeof value} cannot be stored`)
    }
    if (typeof value === 'number' && !Number.isFinite(value))
      throw new TypeError(`the value ${value} is not finite`)
    const given = timeUs ?? (time && time.getTime() * 1000)
    if (given !== undefined && !Number.isSafeInteger(given)) throw new TypeError('the time is invalid')
    if (given === undefined) this.#last = Math.max(this.#now() * 1000, this.#last + 1)
    // The caller may change its tags before the point is sent.
    return { source, metric, timestamp: given ?? this.#last, value, ...(tags && { tags: { ...tags } }) }
  }

  /** Adds a point. It reports whether that may change when the next batch is due. */
  add(point: NewPoint): boolean {
    this.#queue.push({ at: this.#clock(), point })
    this.#written++
    return this.#queue.length === 1 || this.#queue.length === this.#limits.batchSize
  }

  /** Makes all points due, and returns the number of settled points when they are stored or reported. */
  flush(): number {
    this.#flushUntil = this.#written
    return this.#written
  }

  /** Returns the milliseconds until the next batch is due: 0 or less if it is, undefined if there are no points. */
  due(): number | undefined {
    const [oldest] = this.#queue
    if (!oldest) return undefined
    if (this.#queue.length >= this.#limits.batchSize || this.#settled < this.#flushUntil) return 0
    return oldest.at + this.#limits.intervalMs - this.#clock()
  }

  /** Removes and returns the oldest points, up to the size of a batch. */
  take(): NewPoint[] {
    const taken = this.#queue.splice(0, this.#limits.batchSize)
    this.#sending = taken.length
    return taken.map(({ point }) => point)
  }

  /** Counts the points that were taken as settled. */
  settle(): void {
    this.#settled += this.#sending
    this.#sending = 0
  }
}

/** Returns the requests that replace one that was too large for the server; none if it failed otherwise. */
export function halves(points: readonly NewPoint[], error: unknown): (readonly NewPoint[])[] {
  if (!(error instanceof APIError && error.status === 413 && points.length > 1)) return []
  const middle = Math.floor(points.length / 2)
  return [points.slice(0, middle), points.slice(middle)]
}

/**
 * The points that could not be written. They are given to a callback, or thrown by the next call.
 *
 * A callback that throws does not stop the writer: the points are then thrown by the next call, too.
 */
export class Failures {
  readonly #onError: ((error: WriteError) => void) | undefined
  #pending: WriteError[] = []

  constructor(onError?: (error: WriteError) => void) {
    this.#onError = onError
  }

  /** Reports points that were not written. */
  report(points: readonly NewPoint[], cause: unknown): void {
    const reason = cause instanceof Error ? cause.message : String(cause)
    const message = `${points.length} points could not be written: ${reason}`
    const error = new WriteError(message, points, { cause })
    if (!this.#onError) {
      this.#pending.push(error)
      return
    }
    try {
      this.#onError(error)
    } catch (failure) {
      this.#pending.push(
        new WriteError(`${message}; the error callback failed: ${String(failure)}`, points, { cause }),
      )
    }
  }

  /** Reports the points of a request that the server rejected. */
  reportAnswer(points: readonly NewPoint[], answer: IngestAnswer): void {
    if (answer.rejected > 0) this.report(points, new RejectedError(answer.rejected, answer.errors))
  }

  /**
   * Throws what was not reported to a callback, as one error.
   *
   * @throws WriteError if some points were not written
   */
  throwPending(): void {
    const pending = this.#pending
    this.#pending = []
    const [first] = pending
    if (!first) return
    if (pending.length === 1) throw first
    const points = pending.flatMap((error) => error.points)
    const message = `${points.length} points of ${pending.length} requests could not be written: ${first.message}`
    throw new WriteError(message, points, { cause: first.cause })
  }
}
