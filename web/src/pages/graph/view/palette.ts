// The colours of the drawing, from the design tokens of the page.

import { color, faded } from '@/ui/scheme'

import { ENTITY_TYPES, type EntityType } from '../model/types'

export interface Palette {
  node: Record<EntityType, string>
  /** Colours of nodes and edges that are not highlighted. */
  nodeFaint: Record<EntityType, string>
  edge: string
  edgeFaint: string
  edgeStrong: string
  text: string
  textFaint: string
  /** The background. */
  background: string
  /** The translucent background of labels. */
  labelBackground: string
  accent: string
  font: string
}

/** The colour token of each type. Its shape carries the same information. */
export const TYPE_TOKENS: Record<EntityType, string> = {
  object: '--series-1',
  process: '--series-2',
  concept: '--series-4',
  actor: '--series-3',
}

export function readPalette(within: Element): Palette {
  const cssColor = (token: string) => color(token, within)
  const background = cssColor('--bg')
  const node = mapTypes((type) => cssColor(TYPE_TOKENS[type]))
  return {
    node,
    nodeFaint: mapTypes((type) => faded(node[type], 0.22)),
    edge: faded(cssColor('--text-3'), 0.45),
    edgeFaint: faded(cssColor('--text-3'), 0.12),
    edgeStrong: cssColor('--accent'),
    text: cssColor('--text'),
    textFaint: cssColor('--text-3'),
    background,
    labelBackground: faded(background, 0.9),
    accent: cssColor('--accent'),
    font: getComputedStyle(within).fontFamily,
  }
}

function mapTypes(colorOf: (type: EntityType) => string): Record<EntityType, string> {
  return Object.fromEntries(ENTITY_TYPES.map((type) => [type, colorOf(type)])) as Record<EntityType, string>
}
