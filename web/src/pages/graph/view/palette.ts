// The colours of the drawing, out of the tokens of the page.

import { color, faded } from '@/ui/scheme'

import type { EntityType } from '../model/types'

export interface Palette {
  node: Record<EntityType, string>
  /** Of nodes and edges that are not what is looked at. */
  nodeFaint: Record<EntityType, string>
  edge: string
  edgeFaint: string
  edgeStrong: string
  text: string
  textFaint: string
  /** Behind everything. */
  ground: string
  /** Behind labels: the ground, let through a little. */
  groundVeil: string
  accent: string
  font: string
}

/** The token of each type's colour; its shape says the same. */
export const TYPE_TOKENS: Record<EntityType, string> = {
  object: '--series-1',
  process: '--series-2',
  concept: '--series-4',
  actor: '--series-3',
}

export function readPalette(within: Element): Palette {
  const of = (token: string) => color(token, within)
  const ground = of('--bg')
  const node = mapTypes((type) => of(TYPE_TOKENS[type]))
  return {
    node,
    nodeFaint: mapTypes((type) => faded(node[type], 0.22)),
    edge: faded(of('--text-3'), 0.45),
    edgeFaint: faded(of('--text-3'), 0.12),
    edgeStrong: of('--accent'),
    text: of('--text'),
    textFaint: of('--text-3'),
    ground,
    groundVeil: faded(ground, 0.9),
    accent: of('--accent'),
    font: getComputedStyle(within).fontFamily,
  }
}

function mapTypes(of: (type: EntityType) => string): Record<EntityType, string> {
  return { object: of('object'), process: of('process'), concept: of('concept'), actor: of('actor') }
}
