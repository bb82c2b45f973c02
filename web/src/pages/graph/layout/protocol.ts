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
  /** Still: computes to the end and tells the result alone, for readers who want no motion. */
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
