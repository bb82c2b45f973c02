/** The client of a workspace. */

import { Analyses } from './analyses.js'
import { Changes } from './changes.js'
import { Documents, Search } from './documents.js'
import { LivegraphError } from './errors.js'
import type { RequestOptions } from './filters.js'
import { Commands, Edges, Nodes } from './graph.js'
import { Points, queryPath } from './points.js'
import { Prometheus } from './prometheus.js'
import { query, type Query } from './request.js'
import { defaultRetry, type Retry } from './retry.js'
import { Alerts, Rules } from './rules.js'
import { SavedQueries } from './saved.js'
import { Sources } from './sources.js'
import { Transport } from './transport.js'
import type { Account, GraphCounts, PointRows, PointsMeta } from './types.js'
import { Webhooks } from './webhooks.js'
import { Writer, type WriterOptions } from './writer.js'

/** The id of a source that does not exist. A query of it returns nothing, quickly. */
const noSource = '00000000-0000-0000-0000-000000000000'

/** How a client sends requests. */
export interface ConnectionOptions {
  /** How often failed requests are sent again. */
  retry?: Partial<Retry>
  /** The milliseconds to wait for a response, and for each part of it: 45,000. */
  timeoutMs?: number
  /** A function that sends requests instead of the global fetch, for example through a proxy. */
  fetch?: typeof globalThis.fetch
}

/** The options of a client. */
export interface ClientOptions extends ConnectionOptions {
  /** The address of the server, such as `https://livegraph.example.com`. */
  url: string
  /** An API key. It appears in no error and in no output of the client. */
  apiKey: string
  /** The id of the workspace. */
  workspaceId: string
}

/** A client of one workspace of a Livegraph server. */
export class Client {
  readonly sources: Sources
  readonly points: Points
  readonly commands: Commands
  readonly nodes: Nodes
  readonly edges: Edges
  readonly changes: Changes
  readonly analyses: Analyses
  readonly documents: Documents
  readonly search: Search
  readonly savedQueries: SavedQueries
  readonly prometheus: Prometheus
  readonly rules: Rules
  readonly alerts: Alerts
  readonly webhooks: Webhooks
  readonly #transport: Transport

  /** @throws TypeError if the address is not an http or https URL, or the key contains invalid characters */
  constructor({ url, apiKey, workspaceId, retry, timeoutMs = 45_000, fetch }: ClientOptions) {
    // The messages of fetch about invalid headers contain the value.
    if (!/^[!-~]+$/.test(apiKey)) {
      throw new TypeError('the API key is empty or contains characters other than visible ASCII')
    }
    const transport = new Transport({
      base: baseOf(url),
      apiKey,
      workspaceId,
      retry: { ...defaultRetry, ...retry },
      timeoutMs,
      // fetch of browsers must be called on the global object.
      fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
    })
    this.#transport = transport
    this.sources = new Sources(transport)
    this.points = new Points(transport)
    this.commands = new Commands(transport)
    this.nodes = new Nodes(transport, this.commands)
    this.edges = new Edges(transport, this.commands)
    this.changes = new Changes(transport)
    this.analyses = new Analyses(transport)
    this.documents = new Documents(transport)
    this.search = new Search(transport)
    this.savedQueries = new SavedQueries(transport)
    this.prometheus = new Prometheus(transport)
    this.rules = new Rules(transport)
    this.alerts = new Alerts(transport)
    this.webhooks = new Webhooks(transport)
  }

  /**
   * Creates a client with LIVEGRAPH_URL, LIVEGRAPH_API_KEY and LIVEGRAPH_WORKSPACE_ID of the environment.
   *
   * @throws LivegraphError if one of the variables is not set
   */
  static fromEnvironment(options: ConnectionOptions = {}): Client {
    return new Client({
      ...options,
      url: variable('LIVEGRAPH_URL'),
      apiKey: variable('LIVEGRAPH_API_KEY'),
      workspaceId: variable('LIVEGRAPH_WORKSPACE_ID'),
    })
  }

  /** Returns the key of the client, its scopes and its workspaces with their limits. */
  account(options: RequestOptions = {}): Promise<Account> {
    return this.#transport.data<Account>({ method: 'GET', path: '/api/me' }, options)
  }

  /**
   * Returns the numbers of nodes and edges by type, for at most `limit` types of each kind, 1 to 100 (50). The numbers
   * that the scopes of the key do not permit are missing.
   */
  graphCounts({ signal, limit = 50 }: { limit?: number } & RequestOptions = {}): Promise<GraphCounts> {
    const path = `/api/queries/counts?limit=${limit}`
    return this.#transport.data<GraphCounts>({ method: 'GET', path }, { signal })
  }

  /**
   * Returns the bodies of all pages of a list in the format that the headers select.
   *
   * @internal
   */
  contents(
    path: string,
    query: Query,
    headers: Record<string, string>,
    options: RequestOptions,
  ): Promise<Uint8Array[]> {
    return this.#transport.contents({ method: 'GET', path, query, headers }, options)
  }

  /**
   * Waits until queries see the points of ingests, and returns the number of records that could not be stored and
   * became dead letters. Their points are not visible.
   *
   * @param checkpoints the checkpoints in the answers to ingests
   * @param options `timeoutMs`: the milliseconds to wait for each checkpoint, 60,000
   * @throws UnavailableError if the timeout is over (status 504)
   */
  async waitVisible(
    checkpoints: string | readonly string[],
    { timeoutMs = 60_000, signal }: RequestOptions & { timeoutMs?: number } = {},
  ): Promise<number> {
    let deadLetters = 0
    for (const checkpoint of typeof checkpoints === 'string' ? [checkpoints] : checkpoints) {
      const fields = query({ checkpoint, sourceId: noSource, limit: 1 })
      const page = await this.#transport.page<PointRows, PointsMeta>(
        { method: 'GET', path: queryPath, query: fields },
        { signal, retry: { totalMs: timeoutMs, maxAttempts: Infinity } },
      )
      deadLetters += page.meta.deadLettered ?? 0
    }
    return deadLetters
  }

  /**
   * Returns a writer that collects points and writes them in batches.
   *
   * @throws RangeError if a bound is not positive, or batchSize is larger than maxPoints
   */
  writer(options: WriterOptions = {}): Writer {
    return new Writer((points, signal) => this.points.write(points, { precision: 'us', signal }), options)
  }
}

/** Returns the address without slashes at the end. */
function baseOf(url: string): string {
  const parsed = parseURL(url)
  const plain = parsed && !parsed.search && !parsed.hash && !parsed.username && !parsed.password
  if (!plain || !['http:', 'https:'].includes(parsed.protocol)) {
    throw new TypeError("the server's address is not an http or https URL without a query and a password")
  }
  return parsed.href.replace(/\/+$/, '')
}

function parseURL(url: string): URL | undefined {
  try {
    return new URL(url)
  } catch {
    return undefined
  }
}

function variable(name: string): string {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } }
  const value = process?.env?.[name]
  if (!value) throw new LivegraphError(`the environment variable ${name} is not set`)
  return value
}
