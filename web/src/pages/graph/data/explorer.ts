// The state of the explorer: the canvas, the selection, and the operations that change them. React only reads it. The
// data source is a parameter, so that tests can replace it.

import {
  applyChange,
  EMPTY,
  MAX_NODES,
  onlyNodes,
  DEFAULT_OPTIONS,
  withEdges,
  withNeighbors,
  withNodes,
  withoutEdges,
  withoutNodes,
  type Canvas,
  type ExpandOptions,
} from '../model/canvas'
import { withChange } from '../model/history'
import type { Change, CommandResult, GraphNode, Ref } from '../model/types'
import { NO_FILTER, type GraphSource } from './source'

export interface ExplorerState {
  canvas: Canvas
  selected: Ref | null
  /** Nodes that are being expanded. */
  expanding: ReadonlySet<string>
  /** The first nodes are loading. */
  starting: boolean
  /** The last error. A success clears it. */
  error: unknown
  /** Nodes that were not added because the canvas is full. */
  skipped: number
  /** Recently changed resources; a new array each time. */
  highlighted: readonly string[]
  /** The newest changes of the stream, newest first. */
  recent: readonly Change[]
}

/** The maximum number of changes that are kept for the history. */
const MAX_RECENT = 200
/** The number of nodes that are shown by default. */
const FIRST_NODES = 80
/** The maximum number of nodes that a command adds to the canvas. */
const MAX_ADDED = 50
/** Neighbours per page, so that a hub does not fill the canvas. */
export const NEIGHBORS_PER_PAGE = 50

const INITIAL_STATE: ExplorerState = {
  canvas: EMPTY,
  selected: null,
  expanding: new Set(),
  starting: false,
  error: null,
  skipped: 0,
  highlighted: [],
  recent: [],
}

export class Explorer {
  private state = INITIAL_STATE
  private readonly listeners = new Set<() => void>()
  private abort = new AbortController()
  /** Nodes that this operator created or restored. They are shown wherever they are connected. */
  private readonly ownIds = new Set<string>()

  constructor(private readonly source: GraphSource) {}

  readonly subscribe = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    return () => this.listeners.delete(listener)
  }

  readonly snapshot = (): ExplorerState => this.state

  /** Cancels running requests. The explorer can be used again. */
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

  /** Runs a request and stores its error. Cancelled requests have none. */
  private async run(work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    const { signal } = this.abort
    try {
      await work(signal)
      if (!signal.aborted) this.set({ error: null })
    } catch (error) {
      if (!signal.aborted) this.set({ error })
    }
  }

  /** Shows the given nodes, or by default the oldest nodes of the workspace, to which the others are connected. */
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

  /** Adds nodes and the edges between them and the canvas. */
  async add(nodes: readonly GraphNode[]): Promise<void> {
    await this.run((signal) => this.put(nodes, signal))
  }

  /** Adds nodes by id. */
  async addNodesById(ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return
    await this.run(async (signal) => this.put(await this.source.nodes(ids, signal), signal))
  }

  private async put(nodes: readonly GraphNode[], signal: AbortSignal): Promise<void> {
    const fresh = nodes.filter((node) => !this.canvas.nodes.has(node.id)).map((node) => node.id)
    const { canvas, skipped } = withNodes(this.canvas, nodes)
    this.set({ canvas, skipped })
    await this.loadEdges(fresh, signal)
  }

  /** Loads the edges between some nodes and the canvas. */
  private async loadEdges(ids: readonly string[], signal: AbortSignal): Promise<void> {
    const some = ids.filter((id) => this.canvas.nodes.has(id))
    if (some.length === 0) return
    const edges = await this.source.edgesBetween(some, [...this.canvas.nodes.keys()], signal)
    if (!signal.aborted) this.set({ canvas: withEdges(this.canvas, edges) })
  }

  /** Loads neighbours of a node. With the same options and `more`, the next page. */
  async expand(id: string, options: ExpandOptions = DEFAULT_OPTIONS, more = false): Promise<void> {
    if (this.state.expanding.has(id) || !this.canvas.nodes.has(id)) return
    this.set({ expanding: new Set([...this.state.expanding, id]) })
    await this.run(async (signal) => {
      const previous = this.canvas.nodes.get(id)?.expansion
      const cursor = more ? (previous?.cursor ?? null) : null
      const page = await this.source.neighbors(id, options, cursor, NEIGHBORS_PER_PAGE, signal)
      const truncated = page.meta.truncated ?? false
      const edges =
        truncated && previous?.edges == null
          ? (await this.source.edgesOf(id, options, 1, signal)).meta.total
          : null
      if (signal.aborted) return
      const fresh = page.data.map(({ node }) => node.id).filter((item) => !this.canvas.nodes.has(item))
      const { canvas, skipped } = withNeighbors(this.canvas, id, {
        options,
        neighbors: page.data,
        found: page.meta.total,
        edges,
        truncated,
        cursor: page.meta.nextCursor ?? null,
      })
      this.set({ canvas, skipped, highlighted: fresh })
      // The neighbors request does not return the edges among the new nodes.
      await this.loadEdges(fresh, signal)
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
    this.set({ canvas: EMPTY, selected: null, skipped: 0, error: null })
  }

  private setCanvas(canvas: Canvas): void {
    this.set({ canvas, selected: validSelection(canvas, this.state.selected), skipped: 0 })
  }

  select(ref: Ref | null): void {
    if (ref?.id === this.state.selected?.id) return
    this.set({ selected: ref })
  }

  dismissError(): void {
    this.set({ error: null, skipped: 0 })
  }

  /** Applies the result of a command of this operator without waiting for the stream. */
  applyResult(result: CommandResult): void {
    for (const id of result.affected.nodes) this.ownIds.add(id)
    const { node, edge } = result
    let { canvas } = this
    if (node) canvas = node.deleted ? withoutNodes(canvas, [node.id]) : withNodes(canvas, [node]).canvas
    if (edge) canvas = edge.deleted ? withoutEdges(canvas, [edge.id]) : withEdges(canvas, [edge])
    this.set({
      canvas,
      selected: validSelection(canvas, this.state.selected),
      highlighted: [node?.id, edge?.id].filter((id) => id !== undefined),
    })
    void this.run((signal) => this.showAffected(result, signal))
  }

  /**
   * Shows the nodes and edges that a command affected but did not return: nodes of a batch, edges that an undo
   * restored.
   */
  private async showAffected(result: CommandResult, signal: AbortSignal): Promise<void> {
    const ids = result.affected.nodes.slice(0, MAX_ADDED)
    const missing = ids.filter((id) => id !== result.node?.id && !this.canvas.nodes.has(id))
    if (missing.length > 0 && !result.edge) await this.put(await this.source.nodes(missing, signal), signal)
    if (result.affected.counts.edges > 0 && !result.edge) await this.loadEdges(ids, signal)
  }

  /** Applies a change of the stream. */
  onChange(change: Change): void {
    const { canvas, touched, reconnect } = applyChange(this.canvas, change, (id) => this.ownIds.has(id))
    this.set({
      canvas,
      selected: validSelection(canvas, this.state.selected),
      recent: withChange(this.state.recent, change).slice(0, MAX_RECENT),
      ...(touched.length > 0 ? { highlighted: touched } : {}),
    })
    if (reconnect.length > 0) void this.run((signal) => this.loadEdges(reconnect, signal))
  }

  get full(): boolean {
    return this.canvas.nodes.size >= MAX_NODES
  }
}

/** Returns the selection if it is still on the canvas. */
function validSelection(canvas: Canvas, selected: Ref | null): Ref | null {
  if (!selected) return null
  const exists = selected.kind === 'node' ? canvas.nodes.has(selected.id) : canvas.edges.has(selected.id)
  return exists ? selected : null
}
