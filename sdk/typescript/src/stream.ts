/** Reads event streams. */

import { LivegraphError, TransportError } from './errors.js'
import type { Request } from './request.js'
import { Parser, type StreamEvent } from './sse.js'
import type { Transport } from './transport.js'
import { reasonOf, sleep } from './wait.js'

/** The options of a stream. */
export interface StreamOptions<Position> {
  /** The position after which the stream begins, which is `lastId` of another stream. By default, now. */
  after?: Position
  /** Ends the stream. The iteration then throws the signal's reason. */
  signal?: AbortSignal
}

/**
 * The events of a stream, for `for await`. The end of the loop closes the connection, and so does `close`.
 *
 * The connection is opened by `open`, after which no event is missed, or when the first event is requested. If it
 * breaks, the stream is opened again after the last event. The iteration throws the error if that fails permanently
 * or for longer than the total time of the client's retries.
 */
export class EventStream<E extends StreamEvent> implements AsyncIterableIterator<E, void, undefined> {
  readonly #transport: Transport
  readonly #request: Request<unknown>
  readonly #signal: AbortSignal | undefined
  readonly #closing = new AbortController()
  readonly #events: AsyncGenerator<E | undefined, void, undefined>
  readonly #abort = (): void => this.#closing.abort(this.#signal?.reason)
  #opened: Promise<unknown> | undefined
  #closed = false
  #lastId: string

  /** @internal */
  constructor(transport: Transport, request: Request<unknown>, options: StreamOptions<string | number> = {}) {
    this.#transport = transport
    this.#request = request
    this.#signal = options.signal
    this.#lastId = options.after === undefined ? '' : String(options.after)
    this.#events = this.#read()
    this.#signal?.addEventListener('abort', this.#abort)
    if (this.#signal?.aborted) this.#abort()
  }

  /** The position after the last event; '' before the first. Store it to resume the stream with `after`. */
  get lastId(): string {
    return this.#lastId
  }

  /** Opens the connection, and returns the stream. */
  async open(): Promise<this> {
    this.#opened ??= this.#events.next()
    await this.#opened
    return this
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  /** Returns the next event, and waits for it. */
  async next(): Promise<IteratorResult<E, void>> {
    try {
      await this.open()
      for (;;) {
        const { done, value } = await this.#events.next()
        if (done) return { done: true, value: undefined }
        if (value !== undefined) return { done: false, value }
      }
    } catch (error) {
      if (this.#closed) return { done: true, value: undefined }
      throw error
    }
  }

  /** Closes the connection, as `close` does. */
  async return(): Promise<IteratorResult<E, void>> {
    await this.close()
    return { done: true, value: undefined }
  }

  /** Closes the connection. A call of next that waits for an event then returns the end of the iteration. */
  async close(): Promise<void> {
    this.#closed = true
    this.#signal?.removeEventListener('abort', this.#abort)
    this.#closing.abort()
    await this.#events.return()
  }

  async *#read(): AsyncGenerator<E | undefined, void, undefined> {
    try {
      yield* this.#connections(this.#closing.signal)
    } finally {
      this.#signal?.removeEventListener('abort', this.#abort)
    }
  }

  /** Iterates over the events of one connection after the other. */
  async *#connections(signal: AbortSignal): AsyncGenerator<E | undefined, void, undefined> {
    let attempts = this.#transport.attempts()
    for (;;) {
      let failure: LivegraphError = new TransportError('the server ended the stream')
      try {
        for await (const event of this.#connection(signal)) {
          attempts = this.#transport.attempts()
          yield event
        }
      } catch (error) {
        if (!(error instanceof LivegraphError)) throw error
        failure = error
      }
      if (signal.aborted) throw reasonOf(signal)
      const wait = attempts.nextWait(failure, true)
      if (wait === undefined) throw failure
      await sleep(wait, signal)
    }
  }

  /** Iterates over the events of one connection, and undefined when it is open and for heartbeats. */
  async *#connection(signal: AbortSignal): AsyncGenerator<E | undefined, void, undefined> {
    const headers = { Accept: 'text/event-stream', ...(this.#lastId && { 'Last-Event-ID': this.#lastId }) }
    const parser = new Parser(this.#lastId)
    const { chunks, close } = await this.#transport.open({ ...this.#request, headers }, signal)
    try {
      yield undefined
      for await (const chunk of chunks) {
        for (const event of parser.feed(chunk)) {
          this.#lastId = event.id
          yield event as E
        }
        this.#lastId = parser.lastId
        yield undefined
      }
    } finally {
      close()
    }
  }
}
