// The messages between the page and the layout worker.

import type { Body, Spring } from './simulation'

export type ToLayout =
  /** A new graph. `generation` numbers graphs and is part of the positions. */
  | { type: 'graph'; generation: number; bodies: Body[]; springs: Spring[] }
  | { type: 'pin'; id: string; x: number; y: number }
  /** Unpins a node; without an id all nodes. */
  | { type: 'unpin'; id?: string }
  /** Restarts the simulation without a change. */
  | { type: 'restart' }
  /** Without animation only the final positions are computed and posted, for users who prefer reduced motion. */
  | { type: 'motion'; reducedMotion: boolean }
  | { type: 'run'; running: boolean }
  /** The page has processed the last positions. */
  | { type: 'ready' }

export interface FromLayout {
  generation: number
  /** In the order of the bodies of the graph. */
  xy: Float32Array<ArrayBuffer>
  /** More positions will follow. */
  moving: boolean
}
