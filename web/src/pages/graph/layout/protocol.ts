// What the page and the layout's worker say to each other.

import type { Body, Spring } from './simulation'

export type ToLayout =
  /** A new graph. `generation` numbers them: positions say which they are of. */
  | { type: 'graph'; generation: number; bodies: Body[]; springs: Spring[] }
  | { type: 'pin'; id: string; x: number; y: number }
  /** Without an id all. */
  | { type: 'unpin'; id?: string }
  /** Moves again although nothing changed. */
  | { type: 'shake' }
  /** Without animation: computes to the end and posts the result only, for users who prefer reduced motion. */
  | { type: 'motion'; still: boolean }
  | { type: 'run'; running: boolean }
  /** The last positions were taken: the next may come. */
  | { type: 'ready' }

export interface FromLayout {
  generation: number
  /** In the order of the graph's bodies. */
  xy: Float32Array<ArrayBuffer>
  /** More will follow. */
  moving: boolean
}
