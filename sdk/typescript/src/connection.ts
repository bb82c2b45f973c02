/** One attempt of a request: the connection from its beginning to the end of the body. */

import { LivegraphError, TransportError } from './errors.js'
import { maxTimerMs, reasonOf } from './wait.js'

/** Ends an attempt that receives nothing for a time, or whose signal is aborted. */
export class Watch {
  readonly #controller = new AbortController()
  readonly #timeoutMs: number
  readonly #caller: AbortSignal | undefined
  readonly #abort = (): void => this.#controller.abort()
  #timer: ReturnType<typeof setTimeout> | undefined
  #timedOut = false

  constructor(timeoutMs: number, caller?: AbortSignal) {
    this.#timeoutMs = timeoutMs
    this.#caller = caller
    caller?.addEventListener('abort', this.#abort)
    if (caller?.aborted) this.#abort()
  }

  /** The signal for fetch. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Waits for a result, at most for the timeout. Errors become those of the package, or the caller's reason. */
  async within<T>(message: string, wait: () => Promise<T>): Promise<T> {
    this.#timer = setTimeout(
      () => {
        this.#timedOut = true
        this.#abort()
      },
      Math.min(this.#timeoutMs, maxTimerMs),
    )
    try {
      return await wait()
    } catch (error) {
      throw this.#translate(message, error)
    } finally {
      clearTimeout(this.#timer)
    }
  }

  #translate(message: string, cause: unknown): unknown {
    if (cause instanceof LivegraphError) return cause
    if (this.#caller?.aborted) return reasonOf(this.#caller)
    if (this.#timedOut)
      return new TransportError(`${message}: no answer for ${Math.round(this.#timeoutMs)} ms`)
    const sent = !isConnectError(cause instanceof Error ? (cause.cause ?? cause) : cause)
    const what = sent ? 'the connection broke' : 'the server cannot be reached'
    return new TransportError(`${message}: ${what}: ${describe(cause)}`, { cause, sent })
  }

  /** Ends the attempt. */
  close(): void {
    clearTimeout(this.#timer)
    this.#caller?.removeEventListener('abort', this.#abort)
    this.#abort()
  }
}

/** Iterates over the parts of a body. The connection is closed at the end of the iteration. */
export async function* chunks(
  message: string,
  response: Response,
  watch: Watch,
): AsyncGenerator<Uint8Array, void> {
  const reader = response.body?.getReader()
  try {
    for (;;) {
      const part = await watch.within(message, async () => reader?.read())
      if (!part || part.done) return
      yield part.value
    }
  } finally {
    watch.close()
  }
}

/** Reports whether an error of Node.js means that no connection was made. Browsers do not report the reason. */
function isConnectError(cause: unknown): boolean {
  if (cause instanceof AggregateError) return cause.errors.length > 0 && cause.errors.every(isConnectError)
  if (typeof cause !== 'object' || cause === null) return false
  const { code, syscall } = cause as { code?: unknown; syscall?: unknown }
  return syscall === 'connect' || syscall === 'getaddrinfo' || code === 'UND_ERR_CONNECT_TIMEOUT'
}

function describe(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  const { code } = cause as { code?: unknown }
  return cause.message || (typeof code === 'string' ? code : error.message)
}
