/** Documents and search. */

import type { OffsetPage, RequestOptions } from './filters.js'
import { base64, command, encode, json, part, query } from './request.js'
import type { Page } from './response.js'
import type { Transport } from './transport.js'
import type {
  Answer,
  AnswerQuery,
  DeletedDocument,
  Document,
  HybridHit,
  HybridQuery,
  IndexStatus,
  NewDocument,
  PutDocumentResult,
  SearchHit,
  SearchMeta,
  SearchQuery,
} from './types.js'

const path = '/api/documents'

/** Documents, which become nodes of the graph. */
export class Documents {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Creates or changes 1 to 1,000 documents with at most 24 MiB, and returns the result of each.
   *
   * A document has a `text`, or the `data` of a file with its `contentType`. It is identified by its `externalId`. The
   * same content again changes nothing. Search finds the documents about a second later.
   */
  async put(
    documents: readonly NewDocument[],
    options: RequestOptions = {},
  ): Promise<readonly PutDocumentResult[]> {
    const encoded = documents.map((document) =>
      document.data instanceof Uint8Array ? { ...document, data: base64(document.data) } : document,
    )
    const answer = await this.#transport.data<{ documents: PutDocumentResult[] }>(
      { method: 'POST', path, body: encode({ documents: encoded }), headers: command },
      options,
    )
    return answer.documents
  }

  /** Returns a document with its passages, by the id of its node or its external id. */
  get(id: string, options: RequestOptions = {}): Promise<Document> {
    return this.#transport.data<Document>({ method: 'GET', path: `${path}/${part(id)}` }, options)
  }

  /** Returns a page of at most 100 documents, oldest first, without their texts. */
  list({ signal, ...page }: OffsetPage & RequestOptions = {}): Promise<Page<Document>> {
    return this.#transport.page<Document>(
      { method: 'GET', path, query: query({ limit: 100, ...page }) },
      { signal },
    )
  }

  /** Iterates over all documents, oldest first, page by page, without their texts. */
  iterate(options: RequestOptions = {}): AsyncGenerator<Document, void, undefined> {
    return this.#transport.pages<Document>({ method: 'GET', path, query: query({ limit: 100 }) }, options)
  }

  /**
   * Deletes a document with its passages. `commands.undo` with the `commandId` restores them.
   *
   * The request is not repeated if the server may have executed it, because the repetition would return 404.
   */
  delete(id: string, options: RequestOptions = {}): Promise<DeletedDocument> {
    return this.#transport.data<DeletedDocument>(
      {
        method: 'DELETE',
        path: `${path}/${part(id)}`,
        headers: { Prefer: command.Prefer },
        repeatable: false,
      },
      options,
    )
  }
}

/** Options of a search by words and by meaning. */
export type SearchOptions = Omit<SearchQuery, 'query'> & RequestOptions

/** Options of a search that follows edges. */
export type HybridOptions = Omit<HybridQuery, 'query'> & RequestOptions

/** Options of an answer. */
export type AnswerOptions = Omit<AnswerQuery, 'query'> & RequestOptions

/** Search for nodes. */
export class Search {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Returns the nodes that match a text by words and by meaning, best first.
   *
   * `meta.degraded` lists what is missing while a part of the search is unavailable.
   */
  nodes(text: string, { signal, ...options }: SearchOptions = {}): Promise<Page<SearchHit, SearchMeta>> {
    const body = encode({ ...options, query: text })
    return this.#transport.page<SearchHit, SearchMeta>(
      { method: 'POST', path: '/api/rag/search', body, headers: json },
      { signal },
    )
  }

  /**
   * Returns the nodes that match a text by words, by meaning and by the edges that lead to them, best first.
   *
   * `path` of a result contains the edges from the node where the traversal began.
   */
  hybrid(text: string, { signal, ...options }: HybridOptions = {}): Promise<Page<HybridHit, SearchMeta>> {
    const body = encode({ ...options, query: text })
    return this.#transport.page<HybridHit, SearchMeta>(
      { method: 'POST', path: '/api/rag/hybrid-search', body, headers: json },
      { signal },
    )
  }

  /**
   * Returns the sentences of nodes and documents that answer a question, with their sources.
   *
   * The descriptions of the first `limit` results of a hybrid search are read. `answer` is null if no sentence answers
   * the question. `[1]` in it is `citations[0]`. The positions `start` and `end` of a sentence are bytes of the node's
   * description in UTF-8.
   */
  answer(question: string, { signal, ...options }: AnswerOptions = {}): Promise<Answer> {
    const body = encode({ ...options, query: question })
    return this.#transport.data<Answer>(
      { method: 'POST', path: '/api/rag/answer', body, headers: json },
      { signal },
    )
  }

  /** Returns the status of the index of the workspace's nodes. */
  indexStatus(options: RequestOptions = {}): Promise<IndexStatus> {
    return this.#transport.data<IndexStatus>({ method: 'GET', path: '/api/rag/index/status' }, options)
  }
}
