// The canvas as a list, for users who cannot or prefer not to use the picture.

import { visible } from '@/ui/format'

import { incidenceOf, type Canvas, type Incidence, type Shown } from './canvas'
import { relationText } from './words'

export interface OutlineNode {
  shown: Shown
  name: string
  /** Sorted: outgoing first, by relation and name. */
  relations: readonly { incidence: Incidence; text: string }[]
}

const NAME = 120

/** The nodes whose names hold a text, by name. */
export function outlineOf(canvas: Canvas, text: string): OutlineNode[] {
  const sought = text.trim().toLowerCase()
  const incidence = incidenceOf(canvas)
  const nameOf = (id: string) => visible(canvas.nodes.get(id)?.node.name ?? id, NAME)
  return [...canvas.nodes.values()]
    .filter(({ node }) => node.name.toLowerCase().includes(sought))
    .map((shown) => ({
      shown,
      name: nameOf(shown.node.id),
      relations: (incidence.get(shown.node.id) ?? [])
        .map((one) => ({ incidence: one, text: relationText(one, nameOf) }))
        .sort((a, b) => Number(b.incidence.out) - Number(a.incidence.out) || compare(a.text, b.text)),
    }))
    .sort((a, b) => compare(a.name, b.name) || compare(a.shown.node.id, b.shown.node.id))
}

const COLLATOR = new Intl.Collator('en', { numeric: true })
const compare = (a: string, b: string) => COLLATOR.compare(a, b)

/** A line of the tree as it is shown. */
export interface Line {
  key: string
  level: 1 | 2
  /** Within its own level and parent, from 1, and of how many. */
  position: number
  size: number
  node: OutlineNode
  relation: OutlineNode['relations'][number] | null
}

/** The lines that are seen while some nodes are unfolded. */
export function linesOf(outline: readonly OutlineNode[], unfolded: ReadonlySet<string>): Line[] {
  return outline.flatMap((node, i) => {
    const id = node.shown.node.id
    const head: Line = { key: id, level: 1, position: i + 1, size: outline.length, node, relation: null }
    if (!unfolded.has(id)) return [head]
    const size = node.relations.length
    const below = node.relations.map((relation, j): Line => ({
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
