/** The nodes and edges of the graph, and the commands that change them. */

import {
  createEdge,
  createNode,
  deleteEdge,
  deleteNode,
  type Pick,
  redo,
  undo,
  updateEdge,
  updateNode,
  type VersionOptions,
} from './commands.js'
import { ResponseError } from './errors.js'
import type {
  CursorPage,
  EdgeFilter,
  Moment,
  NeighborFilter,
  NodeFilter,
  PathFilter,
  RequestOptions,
  SubgraphFilter,
} from './filters.js'
import { command as headers, encode, idempotency, json, part, selection } from './request.js'
import type { Page } from './response.js'
import type { IdempotentOptions } from './sources.js'
import type { Transport } from './transport.js'
import type {
  BatchResult,
  Command,
  CommandResult,
  CommandState,
  CreateEdge,
  CreateNode,
  Edge,
  EdgeChanges,
  Neighbor,
  NeighborsMeta,
  Node,
  NodeChanges,
  Path,
  Pattern,
  PatternMatches,
  PathsMeta,
  Subgraph,
} from './types.js'

/**
 * Commands, which change the graph. The functions of `commands` build them.
 *
 * A command is sent with an idempotency key, so that a repeated request does not execute it twice.
 */
export class Commands {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Executes a command and returns its result.
   *
   * @throws NotFoundError if the node or the edge does not exist
   * @throws ConflictError if the id exists, the version is another one, or an undo is blocked
   * @throws ValidationError if the command has invalid values
   */
  execute(command: Command, options: IdempotentOptions = {}): Promise<CommandResult> {
    return this.#post<CommandResult>('/api/commands/execute', command, options)
  }

  /**
   * Executes 1 to 1,000 commands in order and returns the result of each.
   *
   * If `atomic` is true, the default, all commands are applied or none, and the error is that of the first that fails.
   * Otherwise the result of a failed command has the status `failed` and its `error`; `batchError` returns it as an
   * error of the package.
   */
  batch(
    commands: readonly Command[],
    { atomic = true, ...options }: IdempotentOptions & { atomic?: boolean } = {},
  ): Promise<BatchResult> {
    return this.#post<BatchResult>('/api/commands/batch', { commands, atomic }, options)
  }

  #post<T>(path: string, content: object, { idempotencyKey, signal }: IdempotentOptions): Promise<T> {
    return this.#transport.data<T>(
      {
        method: 'POST',
        path,
        body: encode(content),
        headers: { ...headers, ...idempotency(idempotencyKey) },
      },
      { signal },
    )
  }

  /** Cancels the last command of the scope, or the command or atomic batch with the id. */
  undo({ scope, commandId, ...options }: Pick & RequestOptions = {}): Promise<CommandResult> {
    return this.execute(undo({ scope, commandId }), options)
  }

  /** Restores the command that was cancelled last, or the one with the id. */
  redo({ scope, commandId, ...options }: Pick & RequestOptions = {}): Promise<CommandResult> {
    return this.execute(redo({ scope, commandId }), options)
  }

  /** Returns the state of a command or a batch of the last 24 hours. */
  get(id: string, options: RequestOptions = {}): Promise<CommandState> {
    return this.#transport.data<CommandState>({ method: 'GET', path: `/api/commands/${part(id)}` }, options)
  }
}

/** Returns the resource in the result of a command. */
function resource<T>(found: T | undefined): T {
  if (found === undefined) throw new ResponseError('The result of the command has no resource')
  return found
}

const nodesPath = '/api/queries/nodes'

/** The nodes of the graph. */
export class Nodes {
  readonly #transport: Transport
  readonly #commands: Commands

  /** @internal */
  constructor(transport: Transport, commands: Commands) {
    this.#transport = transport
    this.#commands = commands
  }

  /**
   * Creates a node. Without an id, the server chooses it.
   *
   * @throws ConflictError if the id exists or was deleted
   */
  async create(node: CreateNode, options: RequestOptions = {}): Promise<Node> {
    return resource((await this.#commands.execute(createNode(node), options)).node)
  }

  /**
   * Changes fields of a node and returns it. `properties` is a merge patch: null removes a property.
   *
   * @throws ConflictError if the node has another version than the expected one
   */
  async update(
    id: string,
    changes: NodeChanges,
    options: VersionOptions & RequestOptions = {},
  ): Promise<Node> {
    return resource((await this.#commands.execute(updateNode(id, changes, options), options)).node)
  }

  /** Deletes a node with its edges. The result contains the `commandId` for an undo. */
  delete(id: string, options: VersionOptions & RequestOptions = {}): Promise<CommandResult> {
    return this.#commands.execute(deleteNode(id, options), options)
  }

  /** Returns a node, with `asOfSequence` or `asOf` as of that state of the graph. */
  get(id: string, { signal, ...moment }: Moment & RequestOptions = {}): Promise<Node> {
    const query = selection(moment)
    return this.#transport.data<Node>({ method: 'GET', path: `${nodesPath}/${part(id)}`, query }, { signal })
  }

  /** Returns a page of at most 100 nodes that match all filters. */
  list({ signal, ...filter }: NodeFilter & CursorPage & RequestOptions = {}): Promise<Page<Node>> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.page<Node>({ method: 'GET', path: nodesPath, query }, { signal })
  }

  /** Iterates over all nodes that match all filters, page by page. */
  iterate({ signal, ...filter }: NodeFilter & RequestOptions = {}): AsyncGenerator<Node, void, undefined> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.pages<Node>({ method: 'GET', path: nodesPath, query }, { signal })
  }

  /**
   * Returns a page of the nodes that are reachable over at most `depth` edges, with these edges.
   *
   * `meta.truncated` of the page is true if there are more edges than the server follows.
   */
  neighbors(
    id: string,
    { signal, ...filter }: NeighborFilter & CursorPage & RequestOptions = {},
  ): Promise<Page<Neighbor, NeighborsMeta>> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.page<Neighbor, NeighborsMeta>(
      { method: 'GET', path: neighborsPath(id), query },
      { signal },
    )
  }

  /** Iterates over all neighbors, page by page. */
  iterateNeighbors(
    id: string,
    { signal, ...filter }: NeighborFilter & RequestOptions = {},
  ): AsyncGenerator<Neighbor, void, undefined> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.pages<Neighbor>({ method: 'GET', path: neighborsPath(id), query }, { signal })
  }

  /**
   * Returns the shortest paths between two nodes, or with `weight` the cheapest, at most `limit` (1, up to 20).
   *
   * `meta.truncated` of the page is true if the server stopped the search at a limit. The paths exist, but others may
   * be better or missing.
   *
   * @throws NotFoundError if one of the nodes does not exist
   */
  paths(
    from: string,
    to: string,
    { signal, ...filter }: PathFilter & RequestOptions = {},
  ): Promise<Page<Path, PathsMeta>> {
    const query = selection({ from, to, ...filter })
    return this.#transport.page<Path, PathsMeta>(
      { method: 'GET', path: '/api/queries/paths', query },
      { signal },
    )
  }

  /**
   * Returns the nodes within `depth` edges of up to 20 nodes, with all edges between the returned nodes.
   *
   * @throws NotFoundError if one of the nodes does not exist
   */
  subgraph(
    ids: string | readonly string[],
    { signal, ...filter }: SubgraphFilter & RequestOptions = {},
  ): Promise<Subgraph> {
    const query = selection({ nodeId: ids, ...filter })
    return this.#transport.data<Subgraph>({ method: 'GET', path: '/api/queries/subgraph', query }, { signal })
  }

  /** Returns the matches of a pattern: the parts of the graph that have its shape. */
  match(pattern: Pattern, { signal }: RequestOptions = {}): Promise<PatternMatches> {
    return this.#transport.data<PatternMatches>(
      { method: 'POST', path: '/api/queries/patterns', body: encode(pattern), headers: json },
      { signal },
    )
  }
}

function neighborsPath(id: string): string {
  return `${nodesPath}/${part(id)}/neighbors`
}

const edgesPath = '/api/queries/edges'

/** The edges of the graph. */
export class Edges {
  readonly #transport: Transport
  readonly #commands: Commands

  /** @internal */
  constructor(transport: Transport, commands: Commands) {
    this.#transport = transport
    this.#commands = commands
  }

  /**
   * Creates an edge from the source to the target. Without an id, the server chooses it.
   *
   * @throws NotFoundError if one of the nodes does not exist
   */
  async create(edge: CreateEdge, options: RequestOptions = {}): Promise<Edge> {
    return resource((await this.#commands.execute(createEdge(edge), options)).edge)
  }

  /**
   * Changes fields of an edge and returns it. `properties` is a merge patch: null removes a property.
   *
   * @throws ConflictError if the edge has another version than the expected one
   */
  async update(
    id: string,
    changes: EdgeChanges,
    options: VersionOptions & RequestOptions = {},
  ): Promise<Edge> {
    return resource((await this.#commands.execute(updateEdge(id, changes, options), options)).edge)
  }

  /** Deletes an edge. The result contains the `commandId` for an undo. */
  delete(id: string, options: VersionOptions & RequestOptions = {}): Promise<CommandResult> {
    return this.#commands.execute(deleteEdge(id, options), options)
  }

  /** Returns an edge, with `asOfSequence` or `asOf` as of that state of the graph. */
  get(id: string, { signal, ...moment }: Moment & RequestOptions = {}): Promise<Edge> {
    const query = selection(moment)
    return this.#transport.data<Edge>({ method: 'GET', path: `${edgesPath}/${part(id)}`, query }, { signal })
  }

  /** Returns a page of at most 100 edges that match all filters. */
  list({ signal, ...filter }: EdgeFilter & CursorPage & RequestOptions = {}): Promise<Page<Edge>> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.page<Edge>({ method: 'GET', path: edgesPath, query }, { signal })
  }

  /** Iterates over all edges that match all filters, page by page. */
  iterate({ signal, ...filter }: EdgeFilter & RequestOptions = {}): AsyncGenerator<Edge, void, undefined> {
    const query = selection({ limit: 100, ...filter })
    return this.#transport.pages<Edge>({ method: 'GET', path: edgesPath, query }, { signal })
  }
}
