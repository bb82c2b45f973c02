// The page's end of the layout.

import type { FromLayout, ToLayout } from './protocol'
import type { Body, Spring } from './simulation'

/** What a worker is to the page; a test puts a host of its own behind it. */
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

/** Positions of a graph's nodes, kept up to date. */
export class LayoutClient {
  private generation = 0
  /** Of the newest graph, in the order of its bodies. NaN: not placed yet. */
  private xy: Float32Array<ArrayBuffer> = new Float32Array()
  private place = new Map<string, number>()
  private readonly held = new Map<string, { x: number; y: number }>()
  private readonly port: Port
  moving = false

  constructor(
    port: Port,
    private readonly onMove: () => void,
  ) {
    this.port = port
    port.listen((message) => this.take(message))
  }

  setGraph(ids: readonly string[], bodies: Body[], springs: Spring[]): void {
    const before = new Map(
      [...this.place].map(([id, i]) => [id, [this.xy[2 * i], this.xy[2 * i + 1]] as const]),
    )
    this.xy = new Float32Array(ids.length * 2).fill(NaN)
    this.place = new Map(ids.map((id, i) => [id, i]))
    ids.forEach((id, i) => {
      const [x = NaN, y = NaN] = before.get(id) ?? []
      this.xy[2 * i] = x
      this.xy[2 * i + 1] = y
    })
    for (const id of this.held.keys()) if (!this.place.has(id)) this.held.delete(id)
    this.generation++
    this.moving = true
    this.port.post({ type: 'graph', generation: this.generation, bodies, springs })
  }

  private take(message: FromLayout): void {
    if (message.generation === this.generation) {
      this.xy = message.xy
      // A node that is dragged is where the pointer is, not where the worker last heard it was.
      for (const [id, at] of this.held) this.write(id, at.x, at.y)
      this.moving = message.moving
      this.onMove()
    }
    this.port.post({ type: 'ready' })
  }

  private write(id: string, x: number, y: number): void {
    const i = this.place.get(id)
    if (i === undefined) return
    this.xy[2 * i] = x
    this.xy[2 * i + 1] = y
  }

  /** x and y of each node in the order of the last setGraph. */
  get positions(): Float32Array {
    return this.xy
  }

  get pinned(): ReadonlySet<string> {
    return new Set(this.held.keys())
  }

  pin(id: string, x: number, y: number): void {
    this.held.set(id, { x, y })
    this.write(id, x, y)
    this.moving = true
    this.port.post({ type: 'pin', id, x, y })
  }

  unpin(id?: string): void {
    if (id === undefined) this.held.clear()
    else this.held.delete(id)
    this.port.post(id === undefined ? { type: 'unpin' } : { type: 'unpin', id })
  }

  shake(): void {
    this.port.post({ type: 'shake' })
  }

  run(running: boolean): void {
    this.moving = running && this.moving
    this.port.post({ type: 'run', running })
  }

  setStill(still: boolean): void {
    this.port.post({ type: 'motion', still })
  }

  close(): void {
    this.port.close()
  }
}
