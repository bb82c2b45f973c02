// The data source of the explorer: the API of one workspace.

import { api, type List, type Query } from '@/api'

import type { ExpandOptions } from '../model/canvas'
import type {
  Change,
  Command,
  CommandResult,
  EntityType,
  GraphEdge,
  GraphNode,
  Neighbor,
} from '../model/types'

export interface NodeFilter {
  name: string
  entityTypes: readonly EntityType[]
  /** A property that has a value; both empty for any. */
  property: { key: string; value: string }
}

export const NO_FILTER: NodeFilter = { name: '', entityTypes: [], property: { key: '', value: '' } }

/** The maximum number of ids in a URL. */
const IDS_PER_REQUEST = 100
/** The maximum number of pages of edges for each query. */
const MAX_PAGES = 10

/** The requests of the explorer. All can be cancelled by a signal. */
export interface GraphSource {
  find: (
    filter: NodeFilter,
    cursor: string | null,
    limit: number,
    signal?: AbortSignal,
  ) => Promise<List<GraphNode>>
  nodes: (ids: readonly string[], signal?: AbortSignal) => Promise<GraphNode[]>
  edge: (id: string, signal?: AbortSignal) => Promise<GraphEdge>
  node: (id: string, signal?: AbortSignal) => Promise<GraphNode>
  neighbors: (
    id: string,
    options: ExpandOptions,
    cursor: string | null,
    limit: number,
    signal?: AbortSignal,
  ) => Promise<List<Neighbor>>
  /** Returns the edges between `some` and `all` in both directions. */
  edgesBetween: (
    some: readonly string[],
    all: readonly string[],
    signal?: AbortSignal,
  ) => Promise<GraphEdge[]>
  /** Returns the newest edges of a node, at most 100, and their total number. */
  edgesOf: (
    id: string,
    options: ExpandOptions,
    limit: number,
    signal?: AbortSignal,
  ) => Promise<List<GraphEdge>>
  history: (
    nodeId: string | null,
    cursor: string | null,
    limit: number,
    signal?: AbortSignal,
  ) => Promise<List<Change>>
  /** Returns the sequence of the newest change; 0 if there is none. */
  head: (signal?: AbortSignal) => Promise<number>
  execute: (command: Command) => Promise<CommandResult>
}

export function graphSource(workspace: string): GraphSource {
  const get = <T>(path: string, signal?: AbortSignal) => api.get<T>(path, { workspace, signal })
  const list = <T>(path: string, query: Query, signal?: AbortSignal) =>
    api.list<T>(path, { workspace, query, signal })
  return {
    find: (filter, cursor, limit, signal) =>
      list('/queries/nodes', filterQuery(filter, cursor, limit), signal),
    nodes: async (ids, signal) => {
      const pages = chunks(ids, IDS_PER_REQUEST).map((some) =>
        list<GraphNode>('/queries/nodes', { ids: some, limit: IDS_PER_REQUEST }, signal),
      )
      return (await Promise.all(pages)).flatMap((page) => page.data)
    },
    node: (id, signal) => get(`/queries/nodes/${encodeURIComponent(id)}`, signal),
    edge: (id, signal) => get(`/queries/edges/${encodeURIComponent(id)}`, signal),
    neighbors: (id, options, cursor, limit, signal) =>
      list(
        `/queries/nodes/${encodeURIComponent(id)}/neighbors`,
        {
          direction: options.direction,
          relationType: options.relationTypes,
          depth: options.depth,
          limit,
          cursor,
        },
        signal,
      ),
    edgesBetween: async (some, all, signal) => {
      const found = new Map<string, GraphEdge>()
      for (const query of edgeQueries(some, all)) {
        for (const edge of await fetchAllPages(list, query, signal)) found.set(edge.id, edge)
      }
      return [...found.values()]
    },
    edgesOf: (id, options, limit, signal) =>
      list('/queries/edges', { ...endQuery(id, options), limit, sort: '-createdAt' }, signal),
    history: (nodeId, cursor, limit, signal) => list('/queries/history', { nodeId, cursor, limit }, signal),
    head: async (signal) => {
      const newest = await list<Change>('/queries/history', { limit: 1 }, signal)
      return newest.data[0]?.sequence ?? 0
    },
    execute: (command) => api.postIdempotent('/commands/execute', { workspace, body: command }),
  }
}

export function filterQuery(filter: NodeFilter, cursor: string | null, limit: number): Query {
  const query: Query = { name: filter.name.trim(), entityType: filter.entityTypes, limit, cursor }
  const { key, value } = filter.property
  if (key.trim() !== '' && value !== '') query[`property.${key.trim()}`] = value
  return query
}

/** Returns the query of the edges with which an expansion starts. */
function endQuery(id: string, options: ExpandOptions): Query {
  const end = { both: 'nodeId', out: 'sourceId', in: 'targetId' }[options.direction]
  return { [end]: id, relationType: options.relationTypes }
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const list: T[][] = []
  for (let i = 0; i < items.length; i += size) list.push(items.slice(i, i + size))
  return list
}

/** Returns queries for all edges between some nodes and all, each within the limit of ids. */
export function edgeQueries(
  some: readonly string[],
  all: readonly string[],
): { sourceId: string[]; targetId: string[] }[] {
  const queries: { sourceId: string[]; targetId: string[] }[] = []
  const others = all.filter((id) => !some.includes(id))
  for (const few of chunks(some, IDS_PER_REQUEST)) {
    for (const many of chunks(all, IDS_PER_REQUEST)) queries.push({ sourceId: few, targetId: many })
    // The reverse direction. Edges among the few nodes are already covered.
    for (const many of chunks(others, IDS_PER_REQUEST)) queries.push({ sourceId: many, targetId: few })
  }
  return queries
}

async function fetchAllPages(
  list: <T>(path: string, query: Query, signal?: AbortSignal) => Promise<List<T>>,
  edgeQuery: Query,
  signal?: AbortSignal,
): Promise<GraphEdge[]> {
  const edges: GraphEdge[] = []
  let cursor: string | null = null
  for (let page = 0; page < MAX_PAGES; page++) {
    const answer: List<GraphEdge> = await list('/queries/edges', { ...edgeQuery, limit: 100, cursor }, signal)
    edges.push(...answer.data)
    cursor = answer.meta.nextCursor ?? null
    if (!cursor) break
  }
  return edges
}
