/** The changes of the graph. */

import type { CursorPage, RequestOptions } from './filters.js'
import { query } from './request.js'
import type { Page } from './response.js'
import type { StreamEvent } from './sse.js'
import { EventStream, type StreamOptions } from './stream.js'
import type { Transport } from './transport.js'
import type { CascadeEdges, Change } from './types.js'

const path = '/api/queries/history'

/** Selects changes. */
export interface ChangeFilter {
  /** Only changes of this node and its edges. */
  nodeId?: string
}

/** Why the graph must be read again. */
export interface GraphReset {
  reason: string
  /** The position that the stream was asked for. */
  after: number
  /** The newest change of the graph. */
  newest: number
}

/** An event of a stream of changes. */
export type ChangeEvent = StreamEvent<'change', Change> | StreamEvent<'reset', GraphReset>

/** The changes of the graph. */
export class Changes {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /** Returns a page of the changes of a node and its edges, or of the whole graph, newest first. */
  list({ signal, ...filter }: ChangeFilter & CursorPage & RequestOptions = {}): Promise<Page<Change>> {
    return this.#transport.page<Change>(
      { method: 'GET', path, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /** Iterates over all changes of a node and its edges, or of the whole graph, newest first. */
  iterate({ signal, ...filter }: ChangeFilter & RequestOptions = {}): AsyncGenerator<
    Change,
    void,
    undefined
  > {
    return this.#transport.pages<Change>(
      { method: 'GET', path, query: query({ limit: 100, ...filter }) },
      { signal },
    )
  }

  /** Iterates over the edges that a change deleted or restored with a node, in chunks of 1,000 ids. */
  iterateEdges(
    sequence: number,
    options: RequestOptions = {},
  ): AsyncGenerator<CascadeEdges, void, undefined> {
    return this.#transport.pages<CascadeEdges>(
      { method: 'GET', path: `${path}/${String(Math.trunc(sequence))}/edges`, query: query({ limit: 100 }) },
      options,
    )
  }

  /**
   * Returns a stream of the changes from now on, or after the change with the sequence number `after`; 0: all changes.
   *
   * An event `reset` means that the graph is another one, for example because it was restored from a backup: read it
   * again.
   */
  stream(options: StreamOptions<number | string> = {}): EventStream<ChangeEvent> {
    return new EventStream<ChangeEvent>(
      this.#transport,
      { method: 'GET', path: '/api/queries/events' },
      options,
    )
  }
}
