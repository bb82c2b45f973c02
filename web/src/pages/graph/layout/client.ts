// The client of the layout worker.

import type { FromLayout, ToLayout } from './protocol'
import type { Body, Spring } from './simulation'

/** The connection to the worker. A test passes its own host. */
export interface Port {
  post: (message: ToLayout) => void
  listen: (listener: (message: FromLayout) => void) => void
  close: () => void
}

export function workerPort(): Port {
  const worker = new Worker(new URL('./layout.worker.ts', import.meta.url), { type: 'module' })
  return {
    post: (message) => worker.postMessage(message),
    listen: (listener) => {
      worker.onmessage = (event: MessageEvent<FromLayout>) => listener(event.data)
    },
    close: () => worker.terminate(),
  }
}

/** The positions of the nodes of a graph, kept up to date. */
export class LayoutClient {
  private generation = 0
  /** The positions of the newest graph in the order of its bodies; NaN if not placed yet. */
  private xy: Float32Array<ArrayBuffer> = new Float32Array()
  private indexById = new Map<string, number>()
  private readonly pinnedPositions = new Map<string, { x: number; y: number }>()
  private readonly port: Port
  moving = false

  constructor(
    port: Port,
    private readonly onMove: () => void,
  ) {
    this.port = port
    port.listen((message) => this.onMessage(message))
  }

  setGraph(ids: readonly string[], bodies: Body[], springs: Spring[]): void {
    const before = new Map(
      [...this.indexById].map(([id, i]) => [id, [this.xy[2 * i], this.xy[2 * i + 1]] as const]),
    )
    this.xy = new Float32Array(ids.length * 2).fill(NaN)
    this.indexById = new Map(ids.map((id, i) => [id, i]))
    ids.forEach((id, i) => {
      const [x = NaN, y = NaN] = before.get(id) ?? []
      this.xy[2 * i] = x
      this.xy[2 * i + 1] = y
    })
    for (const id of this.pinnedPositions.keys()) if (!this.indexById.has(id)) this.pinnedPositions.delete(id)
    this.generation++
    this.moving = true
    this.port.post({ type: 'graph', generation: this.generation, bodies, springs })
  }

  private onMessage(message: FromLayout): void {
    if (message.generation === this.generation) {
      this.xy = message.xy
      // A dragged node is at the pointer, not at the last position that the worker received.
      for (const [id, at] of this.pinnedPositions) this.write(id, at.x, at.y)
      this.moving = message.moving
      this.onMove()
    }
    this.port.post({ type: 'ready' })
  }

  private write(id: string, x: number, y: number): void {
    const i = this.indexById.get(id)
    if (i === undefined) return
    this.xy[2 * i] = x
    this.xy[2 * i + 1] = y
  }

  /** The x and y coordinates of each node in the order of the last setGraph. */
  get positions(): Float32Array {
    return this.xy
  }

  get pinned(): ReadonlySet<string> {
    return new Set(this.pinnedPositions.keys())
  }

  pin(id: string, x: number, y: number): void {
    this.pinnedPositions.set(id, { x, y })
    this.write(id, x, y)
    this.moving = true
    this.port.post({ type: 'pin', id, x, y })
  }

  unpin(id?: string): void {
    if (id === undefined) this.pinnedPositions.clear()
    else this.pinnedPositions.delete(id)
    this.port.post(id === undefined ? { type: 'unpin' } : { type: 'unpin', id })
  }

  restart(): void {
    this.port.post({ type: 'restart' })
  }

  run(running: boolean): void {
    this.moving = running && this.moving
    this.port.post({ type: 'run', running })
  }

  setReducedMotion(reducedMotion: boolean): void {
    this.port.post({ type: 'motion', reducedMotion })
  }

  close(): void {
    this.port.close()
  }
}
