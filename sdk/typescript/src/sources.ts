/** The sources of points. */

import { ConflictError, NotFoundError } from './errors.js'
import type { CursorPage, RequestOptions, SourceFilter } from './filters.js'
import { encode, idempotency, json, part, selection } from './request.js'
import type { Page } from './response.js'
import type { Transport } from './transport.js'
import type { NewSource, Source, SourcePatch } from './types.js'

const path = '/api/live-data/sources'

/** Options of requests with an idempotency key. */
export interface IdempotentOptions extends RequestOptions {
  /** By default, a new one. Requests with the same key are executed once. */
  idempotencyKey?: string
}

/** The sources of points. */
export class Sources {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates a source.
   *
   * @throws ConflictError if the name or the id exists
   */
  create(source: NewSource, { idempotencyKey, signal }: IdempotentOptions = {}): Promise<Source> {
    const headers = { ...json, ...idempotency(idempotencyKey) }
    return this.#transport.data<Source>({ method: 'POST', path, body: encode(source), headers }, { signal })
  }

  /** Returns the source with this name, and creates it if there is none. An existing source is not changed. */
  async ensure(source: NewSource, options: RequestOptions = {}): Promise<Source> {
    try {
      return await this.create(source, options)
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error
      return this.find(source.name, options)
    }
  }

  /**
   * Returns the source with exactly this name.
   *
   * @throws NotFoundError if there is none
   */
  async find(name: string, options: RequestOptions = {}): Promise<Source> {
    for await (const source of this.iterate({ ...options, name })) {
      if (source.name === name) return source
    }
    throw new NotFoundError(`No source is named ${JSON.stringify(name)}`, { status: 404, code: 'NOT_FOUND' })
  }

  /** Returns a source. */
  get(id: string, options: RequestOptions = {}): Promise<Source> {
    return this.#transport.data<Source>({ method: 'GET', path: `${path}/${part(id)}` }, options)
  }

  /** Returns a page of at most 100 sources that match all filters. */
  list({ signal, ...filter }: SourceFilter & CursorPage & RequestOptions = {}): Promise<Page<Source>> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.page<Source>({ method: 'GET', path, query }, { signal })
  }

  /** Iterates over all sources that match all filters, page by page. */
  iterate({ signal, ...filter }: SourceFilter & RequestOptions = {}): AsyncGenerator<
    Source,
    void,
    undefined
  > {
    return this.#transport.pages<Source>(
      { method: 'GET', path, query: selection({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /**
   * Changes the fields of a source and returns it.
   *
   * The changes are a merge patch: null removes a value, `tags` are merged, `metrics` are replaced. With an
   * `expectedVersion`, the request is not repeated if the server may have executed it.
   *
   * @throws ConflictError if the name exists, or the source has another version than the expected one
   */
  update(id: string, changes: SourcePatch, options: RequestOptions = {}): Promise<Source> {
    return this.#transport.data<Source>(
      {
        method: 'PATCH',
        path: `${path}/${part(id)}`,
        body: encode(changes),
        headers: json,
        repeatable: changes.expectedVersion === undefined,
      },
      options,
    )
  }

  /**
   * Deletes a source with its points, which takes a second. It requires the scope `admin`.
   *
   * @throws NotFoundError if the source does not exist. After a connection that broke, this may be the result of the
   *   repeated request.
   */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.data({ method: 'DELETE', path: `${path}/${part(id)}` }, options)
  }
}
