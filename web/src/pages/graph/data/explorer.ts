// The explorer's state: what is on the canvas and what is chosen, and all that changes it. React looks at it and knows
// nothing of how it is fetched; a test passes another source.

import {
  applyChange,
  EMPTY,
  MOST_SHOWN,
  onlyNodes,
  WHOLE_REACH,
  withEdges,
  withNeighbors,
  withNodes,
  withoutEdges,
  withoutNodes,
  type Canvas,
  type Reach,
} from '../model/canvas'
import { withChange } from '../model/history'
import type { Change, CommandResult, GraphNode, Ref } from '../model/types'
import { NO_FILTER, type GraphSource } from './source'

export interface ExplorerState {
  canvas: Canvas
  selected: Ref | null
  /** Nodes that are being expanded. */
  expanding: ReadonlySet<string>
  /** The first nodes are being loaded. */
  starting: boolean
  /** What went wrong last, until something works. */
  error: unknown
  /** Nodes for which there was no room. */
  left: number
  /** Changed a moment ago; a new set each time. */
  flashed: readonly string[]
  /** The newest changes of the stream, newest first. */
  recent: readonly Change[]
}

/** Changes that are kept for the history. */
const MOST_RECENT = 200
/** Nodes that are shown when nobody said which. */
const FIRST_NODES = 80
/** Nodes that come onto the canvas because a command touched them. */
const MOST_BROUGHT = 50
/** Neighbours fetched at a time: a hub does not bury the canvas. */
export const NEIGHBORS_AT_ONCE = 50

const START: ExplorerState = {
  canvas: EMPTY,
  selected: null,
  expanding: new Set(),
  starting: false,
  error: null,
  left: 0,
  flashed: [],
  recent: [],
}

export class Explorer {
  private state = START
  private readonly listeners = new Set<() => void>()
  private abort = new AbortController()
  /** What this reader made or brought back: it is shown wherever it hangs. */
  private readonly own = new Set<string>()

  constructor(private readonly source: GraphSource) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly snapshot = (): ExplorerState => this.state

  /** Cancels running requests. It can be used again. */
  close(): void {
    this.abort.abort()
    this.abort = new AbortController()
    this.set({ expanding: new Set(), starting: false })
  }

  private set(change: Partial<ExplorerState>): void {
    this.state = { ...this.state, ...change }
    for (const listener of this.listeners) listener()
  }

  private get canvas(): Canvas {
    return this.state.canvas
  }

  /** Runs what asks the server; what goes wrong is kept, what was given up is not. */
  private async run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.abort
    try {
      await work(signal)
      if (!signal.aborted) this.set({ error: null })
    } catch (error) {
      if (!signal.aborted) this.set({ error })
    }
  }

  /** Shows these nodes, or where nothing is said the first of the workspace: the oldest, on which others hang. */
  async start(ids: readonly string[]): Promise<void> {
    this.set({ starting: true })
    await this.run(async (signal) => {
      const nodes =
        ids.length > 0
          ? await this.source.nodes(ids, signal)
          : (await this.source.find(NO_FILTER, null, FIRST_NODES, signal)).data
      if (signal.aborted) return
      await this.put(nodes, signal)
      const [only] = nodes
      if (ids.length > 0 && only) this.select({ kind: 'node', id: only.id })
    })
    this.set({ starting: false })
  }

  /** Adds nodes, and the edges between them and what is shown. */
  async add(nodes: readonly GraphNode[]): Promise<void> {
    await this.run((signal) => this.put(nodes, signal))
  }

  /** Adds nodes of which only the ids are known. */
  async bringNodes(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.run(async (signal) => this.put(await this.source.nodes(ids, signal), signal))
  }

  private async put(nodes: readonly GraphNode[], signal: AbortSignal): Promise<void> {
    const fresh = nodes.filter((node) => !this.canvas.nodes.has(node.id)).map((node) => node.id)
    const { canvas, left } = withNodes(this.canvas, nodes)
    this.set({ canvas, left })
    await this.connect(fresh, signal)
  }

  /** Fetches the edges between some nodes and all that are shown. */
  private async connect(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const some = ids.filter((id) => this.canvas.nodes.has(id))
    if (some.length === 0) return
    const edges = await this.source.between(some, [...this.canvas.nodes.keys()], signal)
    if (!signal.aborted) this.set({ canvas: withEdges(this.canvas, edges) })
  }

  /** Fetches a node's neighbours; again with the same reach, the next ones. */
  async expand(id: string, reach: Reach = WHOLE_REACH, more = false): Promise<void> {
    if (this.state.expanding.has(id) || !this.canvas.nodes.has(id)) return
    this.set({ expanding: new Set([...this.state.expanding, id]) })
    await this.run(async (signal) => {
      const before = this.canvas.nodes.get(id)?.expansion
      const cursor = more ? (before?.cursor ?? null) : null
      const page = await this.source.neighbors(id, reach, cursor, NEIGHBORS_AT_ONCE, signal)
      const truncated = page.meta.truncated ?? false
      const edges =
        truncated && before?.edges == null
          ? (await this.source.edgesOf(id, reach, 1, signal)).meta.total
          : null
      if (signal.aborted) return
      const fresh = page.data.map(({ node }) => node.id).filter((one) => !this.canvas.nodes.has(one))
      const { canvas, left } = withNeighbors(this.canvas, id, {
        reach,
        neighbors: page.data,
        found: page.meta.total,
        edges,
        truncated,
        cursor: page.meta.nextCursor ?? null,
      })
      this.set({ canvas, left, flashed: fresh })
      // The neighbors request returns the edges that lead to the nodes, not those between them.
      await this.connect(fresh, signal)
    })
    const expanding = new Set(this.state.expanding)
    expanding.delete(id)
    this.set({ expanding })
  }

  remove(ids: Iterable<string>): void {
    this.setCanvas(withoutNodes(this.canvas, ids))
  }

  keepOnly(ids: Iterable<string>): void {
    this.setCanvas(onlyNodes(this.canvas, ids))
  }

  clear(): void {
    this.set({ canvas: EMPTY, selected: null, left: 0, error: null })
  }

  private setCanvas(canvas: Canvas): void {
    this.set({ canvas, selected: selectedIn(canvas, this.state.selected), left: 0 })
  }

  select(ref: Ref | null): void {
    if (ref?.id === this.state.selected?.id) return
    this.set({ selected: ref })
  }

  dismissError(): void {
    this.set({ error: null, left: 0 })
  }

  /** Takes in what a command of this reader answered, without waiting for the stream. */
  applied(result: CommandResult): void {
    for (const id of result.affected.nodes) this.own.add(id)
    const { node, edge } = result
    let { canvas } = this
    if (node) canvas = node.deleted ? withoutNodes(canvas, [node.id]) : withNodes(canvas, [node]).canvas
    if (edge) canvas = edge.deleted ? withoutEdges(canvas, [edge.id]) : withEdges(canvas, [edge])
    this.set({
      canvas,
      selected: selectedIn(canvas, this.state.selected),
      flashed: [node?.id, edge?.id].filter((id) => id !== undefined),
    })
    void this.run((signal) => this.bring(result, signal))
  }

  /** Shows what a command touched without telling it: the nodes of a batch, the edges that an undo brought back. */
  private async bring(result: CommandResult, signal: AbortSignal): Promise<void> {
    const ids = result.affected.nodes.slice(0, MOST_BROUGHT)
    const unknown = ids.filter((id) => id !== result.node?.id && !this.canvas.nodes.has(id))
    if (unknown.length > 0 && !result.edge) await this.put(await this.source.nodes(unknown, signal), signal)
    if (result.affected.counts.edges > 0 && !result.edge) await this.connect(ids, signal)
  }

  /** Applies a change of the stream. */
  change(change: Change): void {
    const { canvas, touched, reconnect } = applyChange(this.canvas, change, (id) => this.own.has(id))
    this.set({
      canvas,
      selected: selectedIn(canvas, this.state.selected),
      recent: withChange(this.state.recent, change).slice(0, MOST_RECENT),
      ...(touched.length > 0 ? { flashed: touched } : {}),
    })
    if (reconnect.length > 0) void this.run((signal) => this.connect(reconnect, signal))
  }

  get full(): boolean {
    return this.canvas.nodes.size >= MOST_SHOWN
  }
}

/** The selection as long as it is there. */
function selectedIn(canvas: Canvas, selected: Ref | null): Ref | null {
  if (!selected) return null
  const there = selected.kind === 'node' ? canvas.nodes.has(selected.id) : canvas.edges.has(selected.id)
  return there ? selected : null
}
