// Why a hit was found, shaped for drawing: the parts of its score, and the way to it as a small graph.

import type { Direction } from '../graph/model/types'
import type { Hit, Lane, Reason } from './types'

/** A part of the bar of a score. */
export interface Part {
  kind: Reason['kind'] | 'rest'
  label: string
  detail: string
  /** Of the score, 0 to 1. */
  share: number
}

const KIND_LABELS: Record<Reason['kind'], string> = {
  named: 'Named in the query',
  start: 'Seed',
  text: 'Words',
  vector: 'Meaning',
  graph: 'Graph',
}

/** What is left of a score below this is not worth a part of its own. */
const LEAST_REST = 0.02

/**
 * The parts of a hit's score, the largest first, and at the end the rest without a reason: the server returns the five
 * weightiest. Rounding may bring the sum above 1: then all are scaled to it.
 */
export function partsOf(reasons: readonly Reason[]): Part[] {
  const parts: Part[] = reasons
    .filter((reason) => reason.share > 0)
    .map(({ kind, detail, share }) => ({ kind, label: KIND_LABELS[kind], detail, share }))
    .sort((a, b) => b.share - a.share)
  const sum = parts.reduce((total, part) => total + part.share, 0)
  if (sum > 1) for (const part of parts) part.share /= sum
  const rest = 1 - sum
  if (parts.length > 0 && rest >= LEAST_REST) {
    parts.push({ kind: 'rest', label: 'Other paths', detail: 'many small contributions', share: rest })
  }
  return parts
}

/** A lane of a hit: its score, or that it did not find it. */
export interface LaneScore {
  lane: Lane
  label: string
  score: number | null
}

const LANE_LABELS: Record<Lane, string> = { text: 'Words', vector: 'Meaning', graph: 'Graph' }

export function lanesOf(hit: Hit): LaneScore[] {
  const lanes: Lane[] = 'graph' in hit.scores ? ['text', 'vector', 'graph'] : ['text', 'vector']
  return lanes.map((lane) => ({ lane, label: LANE_LABELS[lane], score: hit.scores[lane] ?? null }))
}

/** A node of the small graph; `column` 0 is at the left. */
export interface WayNode {
  id: string
  role: 'seed' | 'step' | 'hit'
  column: number
  row: number
}

export interface WayEdge {
  from: string
  to: string
  /** Its label: a relation, or a share if only the start of a path is known. */
  label: string
  /** It is one edge of the graph. Otherwise a way of which only both ends are known. */
  known: boolean
  /** The edge of the graph points the other way than one reads. */
  backwards: boolean
}

export interface Way {
  nodes: WayNode[]
  edges: WayEdge[]
  columns: number
  rows: number
}

/** Seeds beside the path that are drawn. */
const MOST_SEEDS = 4

/**
 * The way from where the walk began to a hit, as a small graph read from left to right: the path in the first row, and
 * below it the other seeds from which a part of the score came. Null: it came no way, it was found by itself.
 */
export function wayOf(hit: Hit): Way | null {
  const stations = stationsOf(hit)
  const path = hit.path ?? []
  const last = Math.max(stations.length - 1, 1)
  const nodes: WayNode[] = stations.map((id, column) => ({
    id,
    role: column === stations.length - 1 ? 'hit' : column === 0 ? 'seed' : 'step',
    column: stations.length === 1 ? last : column,
    row: 0,
  }))
  const edges: WayEdge[] = path.slice(0, stations.length - 1).map((edge, i) => {
    const from = stations[i] ?? edge.sourceId
    const to = stations[i + 1] ?? edge.targetId
    return { from, to, label: edge.relationType, known: true, backwards: edge.sourceId !== from }
  })
  let row = stations.length > 1 ? 1 : 0
  for (const reason of (hit.explanation ?? []).slice()) {
    if (reason.kind !== 'graph' || reason.nodeId === null || stations.includes(reason.nodeId)) continue
    if (nodes.filter((node) => node.role === 'seed' && node.row > 0).length >= MOST_SEEDS) break
    nodes.push({ id: reason.nodeId, role: 'seed', column: 0, row })
    edges.push({
      from: reason.nodeId,
      to: hit.node.id,
      label: percent(reason.share),
      known: false,
      backwards: false,
    })
    row++
  }
  if (edges.length === 0) return null
  return { nodes, edges, columns: last + 1, rows: Math.max(row, 1) }
}

/**
 * The nodes along the path, from where the walk began to the hit. The edges are in their order but point wherever they
 * point, so each is joined at the end that it has in common with the next. A path that does not hang together, as it
 * may be by a change in between, is no path.
 */
function stationsOf(hit: Hit): string[] {
  const path = hit.path ?? []
  const stations = [hit.node.id]
  let at = hit.node.id
  for (const edge of [...path].reverse()) {
    if (edge.targetId === at) at = edge.sourceId
    else if (edge.sourceId === at) at = edge.targetId
    else return [hit.node.id]
    stations.unshift(at)
  }
  return stations
}

/** Ids of nodes whose names the drawing needs beside those of the hits. */
export function idsToName(hits: readonly Hit[]): string[] {
  const known = new Set(hits.map((hit) => hit.node.id))
  const ids = new Set<string>()
  for (const hit of hits) {
    for (const edge of hit.path ?? []) ids.add(edge.sourceId).add(edge.targetId)
    for (const reason of hit.explanation ?? []) if (reason.nodeId) ids.add(reason.nodeId)
  }
  return [...ids].filter((id) => !known.has(id))
}

export function percent(share: number): string {
  return share > 0 && share < 0.01 ? '<1 %' : `${Math.round(share * 100)} %`
}

export const DIRECTION_LABELS: Record<Direction, string> = {
  both: 'Both directions',
  out: 'From source to target',
  in: 'From target to source',
}

const MISSING: Record<string, string> = {
  text: 'the text index: no results by words',
  vector: 'the vector index or the embedder: no results by meaning',
  graph: 'a part of the graph, because of a timeout or too many edges: some linked nodes may be missing',
  liveData: 'the point store: latest values are missing',
}

/** What an answer had to do without, in words, and what that means; what is not known is named as the server does. */
export function missingOf(degraded: readonly string[]): string {
  return degraded.map((lane) => MISSING[lane] ?? lane).join('; and without ')
}
