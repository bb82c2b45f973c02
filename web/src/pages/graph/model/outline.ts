// The canvas as a list, for users who cannot use the drawing or prefer a list.

import { visible } from '@/ui/format'

import { incidenceOf, type Canvas, type Incidence, type CanvasNode } from './canvas'
import { relationText } from './descriptions'

export interface OutlineNode {
  shown: CanvasNode
  name: string
  /** Sorted: outgoing first, by relation and name. */
  relations: readonly { incidence: Incidence; text: string }[]
}

const NAME = 120

/** Returns the nodes whose names contain a text, by name. */
export function outlineOf(canvas: Canvas, text: string): OutlineNode[] {
  const query = text.trim().toLowerCase()
  const incidence = incidenceOf(canvas)
  const nameOf = (id: string) => visible(canvas.nodes.get(id)?.node.name ?? id, NAME)
  return [...canvas.nodes.values()]
    .filter(({ node }) => node.name.toLowerCase().includes(query))
    .map((shown) => ({
      shown,
      name: nameOf(shown.node.id),
      relations: (incidence.get(shown.node.id) ?? [])
        .map((item) => ({ incidence: item, text: relationText(item, nameOf) }))
        .sort((a, b) => Number(b.incidence.out) - Number(a.incidence.out) || compare(a.text, b.text)),
    }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.shown.node.id, b.shown.node.id))
}

const COLLATOR = new Intl.Collator('en', { numeric: true })
const compare = (a: string, b: string) => COLLATOR.compare(a, b)

/** A visible row of the tree. */
export interface TreeRow {
  key: string
  level: 1 | 2
  /** The position within its level and parent, from 1, and their number. */
  position: number
  size: number
  node: OutlineNode
  relation: OutlineNode['relations'][number] | null
}

/** Returns the visible rows for a set of unfolded nodes. */
export function treeRows(outline: readonly OutlineNode[], unfolded: ReadonlySet<string>): TreeRow[] {
  return outline.flatMap((node, i) => {
    const id = node.shown.node.id
    const head: TreeRow = { key: id, level: 1, position: i + 1, size: outline.length, node, relation: null }
    if (!unfolded.has(id)) return [head]
    const size = node.relations.length
    const below = node.relations.map((relation, j): TreeRow => ({
      key: `${id} ${relation.incidence.edge.id}`,
      level: 2,
      position: j + 1,
      size,
      node,
      relation,
    }))
    return [head, ...below]
  })
}
