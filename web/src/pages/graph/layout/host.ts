// Drives a simulation by the page's messages. In the worker its clock is the worker's; a test brings its own.

import type { FromLayout, ToLayout } from './protocol'
import { Simulation } from './simulation'

/** Calls back a moment later. */
export type Later = (call: () => void) => void

/**
 * One step is computed at a time, and its positions are sent when the page took those before: a busy page makes the
 * layout slower, never the queue longer.
 */
export class LayoutHost {
  private readonly simulation = new Simulation()
  private generation = 0
  private running = true
  private still = false
  private scheduled = false
  /** The page waits for positions. */
  private wanted = true
  /** There are positions that were not posted yet. */
  private untold = false

  constructor(
    private readonly send: (message: FromLayout) => void,
    private readonly later: Later,
  ) {}

  take(message: ToLayout): void {
    switch (message.type) {
      case 'graph':
        this.generation = message.generation
        this.simulation.setGraph(message.bodies, message.springs)
        this.untold = true
        break
      case 'pin':
        this.simulation.pin(message.id, message.x, message.y)
        break
      case 'unpin':
        this.simulation.unpin(message.id)
        break
      case 'shake':
        this.simulation.heat(0.7)
        break
      case 'motion':
        this.still = message.still
        break
      case 'run':
        this.running = message.running
        break
      case 'ready':
        this.wanted = true
        break
    }
    this.schedule()
  }

  private schedule(): void {
    const work = this.untold || (this.running && this.simulation.warm)
    if (this.scheduled || !this.wanted || !work) return
    this.scheduled = true
    this.later(() => {
      this.scheduled = false
      this.turn()
    })
  }

  private turn(): void {
    if (this.running) {
      if (this.still) this.simulation.settle()
      else this.simulation.step()
    }
    this.untold = false
    this.wanted = false
    const moving = this.running && this.simulation.warm
    this.send({ generation: this.generation, xy: this.simulation.positions(), moving })
  }
}
