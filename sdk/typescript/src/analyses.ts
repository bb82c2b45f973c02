/** Analyses of the graph. */

import type { OffsetPage, RequestOptions } from './filters.js'
import { encode, idempotency, json, part, query } from './request.js'
import type { Page } from './response.js'
import type { IdempotentOptions } from './sources.js'
import type { Transport } from './transport.js'
import type { Analysis, NewAnalysis } from './types.js'
import { sleep } from './wait.js'

const path = '/api/analyses'

/** How often `wait` reads an analysis. */
const waitIntervalMs = 1000

/**
 * Jobs that compute a value for each node of the graph, such as its PageRank.
 *
 * All methods require the scopes `read:nodes` and `read:edges`.
 */
export class Analyses {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Queues an analysis and returns it. With `property` it requires the scope `write:nodes`, too.
   *
   * @throws ConflictError if the workspace has 10 analyses that are queued or running
   */
  create(analysis: NewAnalysis, { idempotencyKey, signal }: IdempotentOptions = {}): Promise<Analysis> {
    return this.#transport.data<Analysis>(
      { method: 'POST', path, body: encode(analysis), headers: { ...json, ...idempotency(idempotencyKey) } },
      { signal },
    )
  }

  /** Returns an analysis, with its `result` when it is computed. */
  get(id: string, options: RequestOptions = {}): Promise<Analysis> {
    return this.#transport.data<Analysis>({ method: 'GET', path: `${path}/${part(id)}` }, options)
  }

  /** Returns a page of at most 100 analyses, newest first, without their results. */
  list({ signal, ...page }: OffsetPage & RequestOptions = {}): Promise<Page<Analysis>> {
    return this.#transport.page<Analysis>(
      { method: 'GET', path, query: query({ limit: 100, ...page }) },
      { signal },
    )
  }

  /** Iterates over all analyses, newest first, without their results. */
  iterate(options: RequestOptions = {}): AsyncGenerator<Analysis, void, undefined> {
    return this.#transport.pages<Analysis>({ method: 'GET', path, query: query({ limit: 100 }) }, options)
  }

  /**
   * Cancels an analysis and returns it. Values that were written stay.
   *
   * @throws ConflictError if it is done or has failed
   */
  cancel(id: string, options: RequestOptions = {}): Promise<Analysis> {
    return this.#transport.data<Analysis>({ method: 'POST', path: `${path}/${part(id)}/cancel` }, options)
  }

  /** Waits until an analysis is done, has failed or is cancelled, and returns it. */
  async wait(id: string, options: RequestOptions = {}): Promise<Analysis> {
    for (;;) {
      const analysis = await this.get(id, options)
      if (analysis.state !== 'queued' && analysis.state !== 'running') return analysis
      await sleep(waitIntervalMs, options.signal)
    }
  }
}
