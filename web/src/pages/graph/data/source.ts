// Where the explorer's graph comes from: the interface, within one workspace.

import { api, type List, type Query } from '@/api'

import type { Reach } from '../model/canvas'
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
  /** A property that has a value; both empty: any. */
  property: { key: string; value: string }
}

export const NO_FILTER: NodeFilter = { name: '', entityTypes: [], property: { key: '', value: '' } }

/** Ids in an address: longer ones do not pass. */
const IDS_AT_ONCE = 100
/** Pages of edges between what is shown, at most, for each question. */
const MOST_PAGES = 10

/** What the explorer asks. All can be given up by a signal. */
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
    reach: Reach,
    cursor: string | null,
    limit: number,
    signal?: AbortSignal,
  ) => Promise<List<Neighbor>>
  /** Edges between `some` and `all`, in both directions. */
  between: (some: readonly string[], all: readonly string[], signal?: AbortSignal) => Promise<GraphEdge[]>
  /** The newest edges of a node, at most 100, and how many there are. */
  edgesOf: (id: string, reach: Reach, limit: number, signal?: AbortSignal) => Promise<List<GraphEdge>>
  history: (
    nodeId: string | null,
    cursor: string | null,
    limit: number,
    signal?: AbortSignal,
  ) => Promise<List<Change>>
  /** The newest change's sequence; 0: there is none. */
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
      const pages = portions(ids, IDS_AT_ONCE).map((some) =>
        list<GraphNode>('/queries/nodes', { ids: some, limit: IDS_AT_ONCE }, signal),
      )
      return (await Promise.all(pages)).flatMap((page) => page.data)
    },
    node: (id, signal) => get(`/queries/nodes/${encodeURIComponent(id)}`, signal),
    edge: (id, signal) => get(`/queries/edges/${encodeURIComponent(id)}`, signal),
    neighbors: (id, reach, cursor, limit, signal) =>
      list(
        `/queries/nodes/${encodeURIComponent(id)}/neighbors`,
        { direction: reach.direction, relationType: reach.relationTypes, depth: reach.depth, limit, cursor },
        signal,
      ),
    between: async (some, all, signal) => {
      const found = new Map<string, GraphEdge>()
      for (const question of questions(some, all)) {
        for (const edge of await everyPage(list, question, signal)) found.set(edge.id, edge)
      }
      return [...found.values()]
    },
    edgesOf: (id, reach, limit, signal) =>
      list('/queries/edges', { ...endQuery(id, reach), limit, sort: '-createdAt' }, signal),
    history: (nodeId, cursor, limit, signal) => list('/queries/history', { nodeId, cursor, limit }, signal),
    head: async (signal) => {
      const newest = await list<Change>('/queries/history', { limit: 1 }, signal)
      return newest.data[0]?.sequence ?? 0
    },
    execute: (command) => api.postOnce('/commands/execute', { workspace, body: command }),
  }
}

export function filterQuery(filter: NodeFilter, cursor: string | null, limit: number): Query {
  const query: Query = { name: filter.name.trim(), entityType: filter.entityTypes, limit, cursor }
  const { key, value } = filter.property
  if (key.trim() !== '' && value !== '') query[`property.${key.trim()}`] = value
  return query
}

/** The edges that an expansion would begin with. */
function endQuery(id: string, reach: Reach): Query {
  const end = { both: 'nodeId', out: 'sourceId', in: 'targetId' }[reach.direction]
  return { [end]: id, relationType: reach.relationTypes }
}

function portions<T>(items: readonly T[], size: number): T[][] {
  const list: T[][] = []
  for (let i = 0; i < items.length; i += size) list.push(items.slice(i, i + size))
  return list
}

/** The questions that together ask for all edges between some nodes and all, none of them too long. */
export function questions(
  some: readonly string[],
  all: readonly string[],
): { sourceId: string[]; targetId: string[] }[] {
  const asked: { sourceId: string[]; targetId: string[] }[] = []
  const others = all.filter((id) => !some.includes(id))
  for (const few of portions(some, IDS_AT_ONCE)) {
    for (const many of portions(all, IDS_AT_ONCE)) asked.push({ sourceId: few, targetId: many })
    // The other way round; what is between the few themselves was asked for already.
    for (const many of portions(others, IDS_AT_ONCE)) asked.push({ sourceId: many, targetId: few })
  }
  return asked
}

async function everyPage(
  list: <T>(path: string, query: Query, signal?: AbortSignal) => Promise<List<T>>,
  question: Query,
  signal?: AbortSignal,
): Promise<GraphEdge[]> {
  const edges: GraphEdge[] = []
  let cursor: string | null = null
  for (let page = 0; page < MOST_PAGES; page++) {
    const answer: List<GraphEdge> = await list('/queries/edges', { ...question, limit: 100, cursor }, signal)
    edges.push(...answer.data)
    cursor = answer.meta.nextCursor ?? null
    if (!cursor) break
  }
  return edges
}
