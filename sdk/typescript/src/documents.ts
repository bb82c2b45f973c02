/** Documents and search. */

import type { OffsetPage, RequestOptions } from './filters.js'
import { LivegraphError, ResponseError, TransportError } from './errors.js'
import { base64, command, encode, idempotency, json, part, query } from './request.js'
import { eventError, type Page } from './response.js'
import type { IdempotentOptions } from './sources.js'
import { Parser, type StreamEvent } from './sse.js'
import type { OpenResponse, Transport } from './transport.js'
import { sleep } from './wait.js'
import type {
  Answer,
  AnswerQuery,
  DeletedDocument,
  Document,
  DocumentSort,
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

/** Selects documents, which must meet all conditions, and their order. */
export interface DocumentFilter {
  /** At least one of these tags. */
  tags?: readonly string[]
  /** Each of these tags. */
  allTags?: readonly string[]
  /** A timestamp in this range: `from` is inclusive, `to` exclusive. */
  timestamp?: { from?: Date | string; to?: Date | string }
  /**
   * `created`, the default: the oldest first. `newest`: the last change of the document first. `timestamp`: the newest
   * timestamp first, documents without one last.
   */
  sort?: DocumentSort
}

/** Returns the URL parameters of a list. */
function selected({ tags, allTags, timestamp, sort, ...page }: DocumentFilter & OffsetPage) {
  return query({
    limit: 100,
    ...page,
    tag: tags,
    allTag: allTags,
    timestampFrom: timestamp?.from,
    timestampTo: timestamp?.to,
    sort,
  })
}

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
  list({ signal, ...options }: DocumentFilter & OffsetPage & RequestOptions = {}): Promise<Page<Document>> {
    return this.#transport.page<Document>({ method: 'GET', path, query: selected(options) }, { signal })
  }

  /** Iterates over the documents, oldest first, page by page, without their texts. */
  iterate({ signal, ...filter }: DocumentFilter & RequestOptions = {}): AsyncGenerator<
    Document,
    void,
    undefined
  > {
    return this.#transport.pages<Document>({ method: 'GET', path, query: selected(filter) }, { signal })
  }

  /** Deletes a document with its passages. `commands.undo` with the `commandId` restores them. */
  delete(id: string, { idempotencyKey, signal }: IdempotentOptions = {}): Promise<DeletedDocument> {
    const headers = { Prefer: command.Prefer, ...idempotency(idempotencyKey) }
    return this.#transport.data<DeletedDocument>(
      { method: 'DELETE', path: `${path}/${part(id)}`, headers },
      { signal },
    )
  }
}

/** Options of a search by words and by meaning. */
export type SearchOptions = Omit<SearchQuery, 'query'> & RequestOptions

/** Options of a search that follows edges. */
export type HybridOptions = Omit<HybridQuery, 'query'> & RequestOptions

/** Options of an answer. */
export type AnswerOptions = Omit<AnswerQuery, 'query'> & RequestOptions

/** A part of an answer that is received while it is written. */
export interface AnswerPart {
  /** A part of the text by the chat model, before it is checked; '' in the last part. */
  readonly text: string
  /** The whole answer, only in the last part. It replaces the texts of the others. */
  readonly answer?: Answer
  /** What is missing in the answer. `generation`: the chat model did not write it, and it is quoted. */
  readonly degraded?: readonly string[]
}

/** Iterates over the parts of an answer in a response, and closes it. */
async function* answerParts({ chunks, close }: OpenResponse): AsyncGenerator<AnswerPart, void, undefined> {
  const parser = new Parser()
  try {
    for await (const chunk of chunks) for (const event of parser.feed(chunk)) yield answerPart(event)
  } finally {
    close()
  }
}

/** Returns the content of an event of an answer. */
function answerPart({ event, data }: StreamEvent): AnswerPart {
  if (event === 'error') throw eventError(data)
  const content = data as { text?: unknown; data?: Answer; meta?: { degraded?: string[] } } | null
  if (event === 'token' && typeof content?.text === 'string') return { text: content.text }
  if (event !== 'answer' || !content?.data) throw new ResponseError('The event is not one of an answer')
  return { text: '', answer: content.data, degraded: content.meta?.degraded ?? [] }
}

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
   *
   * With `mode: 'generate'` a chat model writes the answer, and `generated` reports which of its sentences the sources
   * contain. If the model is unavailable, `generated` is absent and the answer is quoted.
   */
  answer(question: string, { signal, ...options }: AnswerOptions = {}): Promise<Answer> {
    const body = encode({ ...options, query: question })
    return this.#transport.data<Answer>(
      { method: 'POST', path: '/api/rag/answer', body, headers: json },
      { signal },
    )
  }

  /**
   * Iterates over the parts of an answer while a chat model writes it. The last part has the whole answer.
   *
   * The texts of the parts are not checked. `answer` of the last part replaces them. The request is sent again after
   * transient errors before the first part.
   */
  async *streamAnswer(
    question: string,
    { signal, ...options }: AnswerOptions = {},
  ): AsyncGenerator<AnswerPart, void, undefined> {
    const body = encode({ ...options, query: question })
    const request = {
      method: 'POST',
      path: '/api/rag/answer',
      body,
      headers: { ...json, Accept: 'text/event-stream' },
    } as const
    const attempts = this.#transport.attempts()
    let begun = false
    for (;;) {
      try {
        for await (const part of answerParts(await this.#transport.open(request, signal))) {
          begun = true
          yield part
          if (part.answer) return
        }
        throw new TransportError('the server ended the stream before the answer')
      } catch (error) {
        if (!(error instanceof LivegraphError)) throw error
        const wait = begun ? undefined : attempts.nextWait(error, true)
        if (wait === undefined) throw error
        await sleep(wait, signal)
      }
    }
  }

  /** Returns the status of the index of the workspace's nodes. */
  indexStatus(options: RequestOptions = {}): Promise<IndexStatus> {
    return this.#transport.data<IndexStatus>({ method: 'GET', path: '/api/rag/index/status' }, options)
  }
}
