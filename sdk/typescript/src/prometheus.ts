/** Queries in PromQL. */

import type { RequestOptions } from './filters.js'
import { query as parameters } from './request.js'
import { parsePrometheus } from './response.js'
import type { Transport } from './transport.js'
import type { PrometheusResult } from './types.js'

/** A time: a Date, a text in RFC 3339, or seconds since 1970. */
export type PromTime = Date | string | number

/** Options of a query in PromQL. */
export interface PromOptions extends RequestOptions {
  /** A shorter timeout than the server's, such as `10s`. */
  timeout?: string
  /** The maximum number of series in the result. */
  limit?: number
}

/** The times of a query over a range. */
export interface PromRange {
  start: PromTime
  /** Included. */
  end: PromTime
  /** A number of seconds or a duration such as `15s`. A range has at most 11,000 steps. */
  step: string | number
}

/** Queries in PromQL, in the format of Prometheus. */
export class Prometheus {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Evaluates an expression at one time, by default now.
   *
   * The result has `data` with `resultType` and `result`, and `warnings` if there are any.
   */
  query(expression: string, options: PromOptions & { time?: PromTime } = {}): Promise<PrometheusResult> {
    return this.#evaluate('query', expression, options)
  }

  /** Evaluates an expression at each step of a range. */
  queryRange(expression: string, options: PromRange & PromOptions): Promise<PrometheusResult> {
    return this.#evaluate('query_range', expression, options)
  }

  async #evaluate(
    route: string,
    expression: string,
    { signal, ...fields }: RequestOptions,
  ): Promise<PrometheusResult> {
    // A form, because expressions can be longer than a URL.
    const form = parameters({ ...fields, query: expression }).map(([name, value]) => [name, value])
    const answer = await this.#transport.send(
      {
        method: 'POST',
        path: `/prometheus/api/v1/${route}`,
        body: new URLSearchParams(form).toString(),
        headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      },
      { signal },
    )
    return parsePrometheus(answer)
  }
}
