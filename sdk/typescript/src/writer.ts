/** Writes points in batches. */

import { Buffer, defaultLimits, Failures, halves, type Limits, type WriterPoint } from './buffer.js'
import { type WriteError, WriterClosedError } from './errors.js'
import type { IngestAnswer, NewPoint } from './types.js'
import { Condition, reasonOf } from './wait.js'

/** The options of a writer. */
export interface WriterOptions extends Partial<Limits> {
  /**
   * Called with points that could not be written. It must not wait for the writer. Without it, the next call of the
   * writer throws the error.
   */
  onError?: (error: WriteError) => void
  /** Closes the writer without sending the points of the queue, which are reported as not written. */
  signal?: AbortSignal
}

/** Sends a batch of points. */
export type Send = (points: readonly NewPoint[], signal: AbortSignal | undefined) => Promise<IngestAnswer>

/**
 * Collects points and writes them in batches.
 *
 * A batch is sent when it is complete, after `intervalMs`, and at `flush` and `close`. Points that could not be written
 * after the retries of the client, and points that the server rejected, are given to `onError`; without it the next
 * `write`, `flush` or `close` throws them. A program of Node.js does not exit before the points are sent; a page of a
 * browser that is closed does not send them.
 */
export class Writer {
  readonly #sendBatch: Send
  readonly #buffer: Buffer
  readonly #failures: Failures
  readonly #signal: AbortSignal | undefined
  readonly #work = new Condition()
  readonly #progress = new Condition()
  #running: Promise<void> | undefined
  #closed = false

  /** @internal */
  constructor(send: Send, { onError, signal, ...limits }: WriterOptions) {
    const given = Object.entries(limits).filter(([, value]) => (value as unknown) !== undefined)
    this.#buffer = new Buffer({ ...defaultLimits, ...(Object.fromEntries(given) as Partial<Limits>) })
    this.#sendBatch = send
    this.#failures = new Failures(onError)
    this.#signal = signal
  }

  /**
   * Adds a point, and waits while the writer holds `maxPoints`. The promise must be awaited.
   *
   * @throws WriteError if earlier points could not be written, and there is no callback. The point is not added.
   * @throws WriterClosedError if the writer is closed
   * @throws TypeError if the value is not finite, or the time is invalid
   */
  async write(point: WriterPoint): Promise<void> {
    const complete = this.#buffer.point(point)
    this.#checkOpen()
    while (this.#buffer.isFull) {
      await this.#progress.wait()
      this.#checkOpen()
    }
    this.#running ??= this.#run()
    if (this.#buffer.add(complete)) this.#work.notify()
  }

  /**
   * Sends all points that were written before, and waits until they are stored or reported.
   *
   * @throws WriteError if points could not be written, and there is no callback
   */
  async flush(): Promise<void> {
    const target = this.#buffer.flush()
    this.#work.notify()
    while (this.#buffer.settled < target) await this.#progress.wait()
    this.#failures.throwPending()
  }

  /**
   * Sends all points and closes the writer. It takes at most as long as the retries of the client, for each batch.
   *
   * @throws WriteError if points could not be written, and there is no callback
   */
  async close(): Promise<void> {
    this.#closed = true
    this.#buffer.flush()
    this.#work.notify()
    this.#progress.notify() // calls of write that wait for space
    await this.#running
    this.#failures.throwPending()
  }

  #checkOpen(): void {
    if (this.#closed || this.#signal?.aborted) throw new WriterClosedError('the writer is closed')
    this.#failures.throwPending()
  }

  async #run(): Promise<void> {
    const wake = (): void => this.#work.notify()
    this.#signal?.addEventListener('abort', wake)
    while (await this.#batchIsDue()) {
      await this.#send(this.#buffer.take())
      this.#settle()
    }
    this.#signal?.removeEventListener('abort', wake)
    if (this.#signal?.aborted) this.#abandon(reasonOf(this.#signal))
  }

  /** Reports the points of the queue, and closes the writer. */
  #abandon(reason: Error): void {
    this.#closed = true
    for (let points = this.#buffer.take(); points.length > 0; points = this.#buffer.take()) {
      this.#failures.report(points, reason)
      this.#settle()
    }
    this.#progress.notify()
  }

  /** Waits until a batch is due. It returns false when the writer is closed and has no points, or is aborted. */
  async #batchIsDue(): Promise<boolean> {
    for (;;) {
      if (this.#signal?.aborted) return false
      const wait = this.#buffer.due()
      if (wait !== undefined && wait <= 0) return true
      if (wait === undefined && this.#closed) return false
      await this.#work.wait(wait)
    }
  }

  #settle(): void {
    this.#buffer.settle()
    this.#progress.notify()
  }

  async #send(points: readonly NewPoint[]): Promise<void> {
    const requests = [points]
    for (let batch = requests.shift(); batch; batch = requests.shift()) {
      try {
        this.#failures.reportAnswer(batch, await this.#sendBatch(batch, this.#signal))
      } catch (error) {
        const parts = halves(batch, error)
        requests.unshift(...parts)
        if (parts.length === 0) this.#failures.report(batch, error)
      }
    }
  }
}
