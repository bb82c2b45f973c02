/** Saved queries of search. */

import type { RequestOptions, SavedQueryFilter } from './filters.js'
import { encode, idempotency, json, part, query } from './request.js'
import type { Page } from './response.js'
import type { IdempotentOptions } from './sources.js'
import type { Transport } from './transport.js'
import type {
  Answer,
  HybridHit,
  NewSavedQuery,
  RunSavedQuery,
  SavedQuery,
  SavedQueryPatch,
  SearchHit,
  SearchMeta,
} from './types.js'

const path = '/api/rag/queries'

/**
 * Requests of search with names. Reading and running them requires the scopes of the search. Changing them requires
 * `write:nodes`.
 */
export class SavedQueries {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Saves a query. `request` is the body of the route of its `kind`.
   *
   * @throws ConflictError if the name or the id exists
   * @throws ValidationError if the route would refuse the request, or the workspace has 1,000 saved queries
   */
  create(saved: NewSavedQuery, { idempotencyKey, signal }: IdempotentOptions = {}): Promise<SavedQuery> {
    const headers = { ...json, ...idempotency(idempotencyKey) }
    return this.#transport.data<SavedQuery>(
      { method: 'POST', path, body: encode(saved), headers },
      { signal },
    )
  }

  /** Returns a saved query. */
  get(id: string, options: RequestOptions = {}): Promise<SavedQuery> {
    return this.#transport.data<SavedQuery>({ method: 'GET', path: `${path}/${part(id)}` }, options)
  }

  /** Returns a page of at most 100 saved queries that match all filters. */
  list({
    signal,
    ...filter
  }: SavedQueryFilter & { limit?: number; offset?: number } & RequestOptions = {}): Promise<
    Page<SavedQuery>
  > {
    return this.#transport.page<SavedQuery>(
      { method: 'GET', path, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /** Iterates over all saved queries that match all filters, page by page. */
  iterate({ signal, ...filter }: SavedQueryFilter & RequestOptions = {}): AsyncGenerator<
    SavedQuery,
    void,
    undefined
  > {
    return this.#transport.pages<SavedQuery>(
      { method: 'GET', path, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /**
   * Changes the fields of a saved query and returns it.
   *
   * The changes are a merge patch: the members of `request` are merged, and null removes one. With an
   * `expectedVersion`, the request is not repeated if the server may have executed it.
   *
   * @throws ConflictError if the name exists, or the query has another version than the expected one
   */
  update(id: string, changes: SavedQueryPatch, options: RequestOptions = {}): Promise<SavedQuery> {
    return this.#transport.data<SavedQuery>(
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
   * Deletes a saved query.
   *
   * @throws NotFoundError if it does not exist. After a connection that broke, this may be the result of the repeated
   *   request.
   */
  async delete(id: string, options: RequestOptions = {}): Promise<void> {
    await this.#transport.data({ method: 'DELETE', path: `${path}/${part(id)}` }, options)
  }

  /** Runs a query of kind `search`. The fields replace what was saved. */
  runNodes(
    id: string,
    { signal, ...changes }: RunSavedQuery & RequestOptions = {},
  ): Promise<Page<SearchHit, SearchMeta>> {
    return this.#transport.page<SearchHit, SearchMeta>(run(id, changes), { signal })
  }

  /** Runs a query of kind `hybrid-search`. The fields replace what was saved. */
  runHybrid(
    id: string,
    { signal, ...changes }: RunSavedQuery & RequestOptions = {},
  ): Promise<Page<HybridHit, SearchMeta>> {
    return this.#transport.page<HybridHit, SearchMeta>(run(id, changes), { signal })
  }

  /** Runs a query of kind `answer`. The fields replace what was saved. */
  runAnswer(
    id: string,
    { signal, ...changes }: Omit<RunSavedQuery, 'offset'> & RequestOptions = {},
  ): Promise<Answer> {
    return this.#transport.data<Answer>(run(id, changes), { signal })
  }
}

/** Returns the request of a run. */
function run(id: string, changes: RunSavedQuery) {
  return { method: 'POST', path: `${path}/${part(id)}/run`, body: encode(changes), headers: json } as const
}
