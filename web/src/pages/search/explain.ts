// The explanation of a hit for drawing: the parts of its score, and the path to it as a small graph.

import { num, visible } from '@/ui/format'

import type { Direction } from '../graph/model/types'
import type { Hit, Lane, Reason, SearchMeta } from './types'

/** A segment of the score bar. */
export interface Part {
  kind: Reason['kind'] | 'rest'
  label: string
  detail: string
  /** The share of the score, 0 to 1. */
  share: number
}

const KIND_LABELS: Record<Reason['kind'], string> = {
  named: 'Named in the query',
  start: 'Seed',
  text: 'Words',
  vector: 'Meaning',
  graph: 'Graph',
}

/** A remainder below this is not shown as a segment. */
const MIN_REMAINDER = 0.02

/**
 * Returns the parts of a hit's score, the largest first, and the unexplained remainder at the end: the server returns
 * the five largest. Rounding may bring the sum above 1; then all parts are scaled.
 */
export function partsOf(reasons: readonly Reason[]): Part[] {
  const parts: Part[] = reasons
    .filter((reason) => reason.share > 0)
    .map(({ kind, detail, share }) => ({ kind, label: KIND_LABELS[kind], detail, share }))
    .sort((a, b) => b.share - a.share)
  const sum = parts.reduce((total, part) => total + part.share, 0)
  if (sum > 1) for (const part of parts) part.share /= sum
  const remainder = 1 - sum
  if (parts.length > 0 && remainder >= MIN_REMAINDER) {
    parts.push({ kind: 'rest', label: 'Other paths', detail: 'many small contributions', share: remainder })
  }
  return parts
}

/** The score of a hit in a lane; null if the lane did not find it. */
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

/** A node of the path graph; column 0 is at the left. */
export interface PathNode {
  id: string
  role: 'seed' | 'step' | 'hit'
  column: number
  row: number
}

export interface PathEdge {
  from: string
  to: string
  /** A relation, or a share if only the start of a path is known. */
  label: string
  /** It is one edge of the graph. Otherwise it is a path of which only both ends are known. */
  direct: boolean
  /** The edge points against the reading direction. */
  backwards: boolean
}

export interface HitPath {
  nodes: PathNode[]
  edges: PathEdge[]
  columns: number
  rows: number
}

/** The maximum number of drawn seeds beside the path. */
const MAX_SEEDS = 4

/**
 * Returns the path from the seed to a hit as a graph that is read from left to right: the path in the first row, and
 * below it the other seeds that contribute to the score. Null if the hit was not reached over edges.
 */
export function hitPathOf(hit: Hit): HitPath | null {
  const pathIds = pathIdsOf(hit)
  const path = hit.path ?? []
  const last = Math.max(pathIds.length - 1, 1)
  const nodes: PathNode[] = pathIds.map((id, column) => ({
    id,
    role: column === pathIds.length - 1 ? 'hit' : column === 0 ? 'seed' : 'step',
    column: pathIds.length === 1 ? last : column,
    row: 0,
  }))
  const edges: PathEdge[] = path.slice(0, pathIds.length - 1).map((edge, i) => {
    const from = pathIds[i] ?? edge.sourceId
    const to = pathIds[i + 1] ?? edge.targetId
    return { from, to, label: edge.relationType, direct: true, backwards: edge.sourceId !== from }
  })
  let row = pathIds.length > 1 ? 1 : 0
  for (const reason of (hit.explanation ?? []).slice()) {
    if (reason.kind !== 'graph' || reason.nodeId === null || pathIds.includes(reason.nodeId)) continue
    if (nodes.filter((node) => node.role === 'seed' && node.row > 0).length >= MAX_SEEDS) break
    nodes.push({ id: reason.nodeId, role: 'seed', column: 0, row })
    edges.push({
      from: reason.nodeId,
      to: hit.node.id,
      label: percent(reason.share),
      direct: false,
      backwards: false,
    })
    row++
  }
  if (edges.length === 0) return null
  return { nodes, edges, columns: last + 1, rows: Math.max(row, 1) }
}

/**
 * Returns the ids of the nodes along the path, from the seed to the hit. Edges are in path order but may point in
 * either direction, so each is joined at the end that it shares with the next. A path that is not connected, for
 * example because of a concurrent change, is ignored.
 */
function pathIdsOf(hit: Hit): string[] {
  const path = hit.path ?? []
  const ids = [hit.node.id]
  let current = hit.node.id
  for (const edge of [...path].reverse()) {
    if (edge.targetId === current) current = edge.sourceId
    else if (edge.sourceId === current) current = edge.targetId
    else return [hit.node.id]
    ids.unshift(current)
  }
  return ids
}

/** Returns the ids of nodes whose names the drawing needs beyond those of the hits. */
export function idsToName(hits: readonly Hit[]): string[] {
  const named = new Set(hits.map((hit) => hit.node.id))
  const ids = new Set<string>()
  for (const hit of hits) {
    for (const edge of hit.path ?? []) ids.add(edge.sourceId).add(edge.targetId)
    for (const reason of hit.explanation ?? []) if (reason.nodeId) ids.add(reason.nodeId)
  }
  return [...ids].filter((id) => !named.has(id))
}

export function percent(share: number): string {
  return share > 0 && share < 0.01 ? '<1 %' : `${Math.round(share * 100)} %`
}

export const DIRECTION_LABELS: Record<Direction, string> = {
  both: 'Both directions',
  out: 'From source to target',
  in: 'From target to source',
}

const DEGRADED_TEXTS: Record<string, string> = {
  text: 'the text index: no results by words',
  vector: 'the vector index or the embedder: no results by meaning',
  graph: 'a part of the graph, because of a timeout or too many edges: some linked nodes may be missing',
  rerank: 'the reranking model: results have the order of the search',
  liveData: 'the point store: latest values are missing',
  generation: 'the chat model: sentences are quoted instead of a written answer',
}

/** Lanes whose absence neither Indexes nor Overview explains. */
const NOT_SHOWN = ['graph', 'rerank', 'generation']

/** Reports whether the pages Indexes and Overview show the cause of a degraded lane. */
export const isShownElsewhere = (degraded: readonly string[]) =>
  degraded.some((lane) => !NOT_SHOWN.includes(lane))

/** Describes the degraded lanes of a response and their effects. Unknown lanes are named as the server does. */
export function degradedText(degraded: readonly string[]): string {
  return degraded.map((lane) => DEGRADED_TEXTS[lane] ?? lane).join('; and without ')
}

/** Describes how long a search took in milliseconds, and what was reranked. */
export function timingText({ total, rerank }: SearchMeta, ms: number): string {
  const all = `${total >= MAX_RANKED ? '(that were ranked) ' : ''}in ${num(Math.max(1, Math.round(ms)))} ms`
  return rerank ? `${all}, ${num(rerank.candidates)} reranked by ${visible(rerank.model, 60)}` : all
}

/** The maximum number of ranked results. */
const MAX_RANKED = 1000
