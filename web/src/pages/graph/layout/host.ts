// Runs a simulation by the messages of the page. The clock is a parameter, so that tests can replace it.

import type { FromLayout, ToLayout } from './protocol'
import { Simulation } from './simulation'

/** Calls a function a moment later. */
export type Defer = (callback: () => void) => void

/**
 * Computes one step at a time. Positions are sent after the page has processed the previous ones: a busy page slows
 * down the layout, but messages do not queue up.
 */
export class LayoutHost {
  private readonly simulation = new Simulation()
  private generation = 0
  private running = true
  private reducedMotion = false
  private scheduled = false
  /** The page is ready for positions. */
  private clientReady = true
  /** There are positions that were not posted yet. */
  private unsent = false

  constructor(
    private readonly send: (message: FromLayout) => void,
    private readonly defer: Defer,
  ) {}

  onMessage(message: ToLayout): void {
    switch (message.type) {
      case 'graph':
        this.generation = message.generation
        this.simulation.setGraph(message.bodies, message.springs)
        this.unsent = true
        break
      case 'pin':
        this.simulation.pin(message.id, message.x, message.y)
        break
      case 'unpin':
        this.simulation.unpin(message.id)
        break
      case 'restart':
        this.simulation.reheat(0.7)
        break
      case 'motion':
        this.reducedMotion = message.reducedMotion
        break
      case 'run':
        this.running = message.running
        break
      case 'ready':
        this.clientReady = true
        break
    }
    this.schedule()
  }

  private schedule(): void {
    const work = this.unsent || (this.running && this.simulation.isActive)
    if (this.scheduled || !this.clientReady || !work) return
    this.scheduled = true
    this.defer(() => {
      this.scheduled = false
      this.tick()
    })
  }

  private tick(): void {
    if (this.running) {
      if (this.reducedMotion) this.simulation.settle()
      else this.simulation.step()
    }
    this.unsent = false
    this.clientReady = false
    const moving = this.running && this.simulation.isActive
    this.send({ generation: this.generation, xy: this.simulation.positions(), moving })
  }
}
