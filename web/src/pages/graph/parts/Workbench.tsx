// The layout of the explorer: the canvas with its toolbar, and beside it the selection, the tree of nodes and the
// history.

import { useRef, useState } from 'react'

import type { StreamState } from '@/api'
import { useCommands } from '@/app/commands'
import { ErrorNotice, Notice, num, plural, Tabs } from '@/ui'

import { useRunner } from '../data/commands'
import { incidenceOf, MAX_NODES, DEFAULT_OPTIONS, type ExpandOptions } from '../model/canvas'
import { affectedNodeIds } from '../model/diffs'
import type { Change, Command, GraphEdge, GraphNode, Ref } from '../model/types'
import { useExplorer, useShared } from './context'
import { EdgeDialog } from './EdgeDialog'
import { NodeSearch } from './NodeSearch'
import { History } from './History'
import { NodeDialog } from './NodeDialog'
import { Selection } from './Selection'
import { NodeTree } from './NodeTree'
import { GraphCanvas, type CanvasControls } from './GraphCanvas'
import { CanvasToolbar, CanvasMessage } from './CanvasToolbar'
import { UndoDialog } from './UndoDialog'

type Side = 'details' | 'shown' | 'history'

type Editing =
  | { what: 'node'; node: GraphNode | null }
  | { what: 'edge'; edge: GraphEdge | null; from: GraphNode | null }
  | null

export function Workbench({ stream, onReconnect }: { stream: StreamState; onReconnect: () => void }) {
  const { explorer } = useShared()
  const state = useExplorer(explorer)
  const controls = useRef<CanvasControls>(null)
  const [side, setSide] = useState<Side>('details')
  const [editing, setEditing] = useState<Editing>(null)
  const undo = useRunner()
  const [refused, setRefused] = useState<Command | null>(null)

  const select = (ref: Ref | null) => {
    explorer.select(ref)
    if (ref && side === 'shown') return
    if (ref) setSide('details')
  }
  const expand = (id: string, options: ExpandOptions = DEFAULT_OPTIONS, more = false) =>
    void explorer.expand(id, options, more)
  const pick = (node: GraphNode) =>
    void explorer.add([node]).then(() => select({ kind: 'node', id: node.id }))
  const step = async (command: Command) => {
    setRefused(null)
    const result = await undo.run(command)
    if (!result) setRefused(command)
    else if (result.node && !result.node.deleted) explorer.select({ kind: 'node', id: result.node.id })
  }
  const showChange = async (change: Change) => {
    const ids = [...affectedNodeIds(change)].slice(0, 50)
    const missing = ids.filter((id) => !state.canvas.nodes.has(id))
    await explorer.addNodesById(missing)
    const first = ids.find((id) => explorer.snapshot().canvas.nodes.has(id))
    if (first) explorer.select({ kind: 'node', id: first })
  }
  const keepAround = (id: string) => {
    const neighborIds = incidenceOf(state.canvas).get(id) ?? []
    explorer.keepOnly([id, ...neighborIds.map((item) => item.otherId)])
  }

  useCommands([
    {
      id: 'graph-new',
      name: 'New node',
      group: 'Graph',
      keywords: 'create',
      run: () => setEditing({ what: 'node', node: null }),
    },
    {
      id: 'graph-fit',
      name: 'Show the whole graph',
      group: 'Graph',
      keywords: 'fit zoom',
      run: () => controls.current?.fit(),
    },
    {
      id: 'graph-undo',
      name: 'Undo my last command',
      group: 'Graph',
      run: () => void step({ type: 'UNDO' }),
    },
    { id: 'graph-redo', name: 'Redo', group: 'Graph', run: () => void step({ type: 'REDO' }) },
  ])

  return (
    <div className="graph">
      <div className="graph-main">
        <GraphCanvas
          state={state}
          onSelect={select}
          onExpand={expand}
          onRemove={(id) => explorer.remove([id])}
          controls={controls}
        />
        <NodeSearch canvas={state.canvas} onPick={pick} onPickAll={(nodes) => void explorer.add(nodes)} />
        <CanvasToolbar
          state={state}
          stream={stream}
          onReconnect={onReconnect}
          controls={controls}
          busy={undo.busy}
          onNewNode={() => setEditing({ what: 'node', node: null })}
          onNewEdge={() =>
            setEditing({ what: 'edge', edge: null, from: selectedNode(state.selected, explorer) })
          }
          onStep={(command) => void step(command)}
          onClear={() => explorer.clear()}
        />
        <CanvasMessage
          state={state}
          onNewNode={() => setEditing({ what: 'node', node: null })}
          onStart={() => void explorer.start([])}
        />
        {(Boolean(state.error) || state.skipped > 0) && (
          <div className="graph-trouble">
            {Boolean(state.error) && (
              <ErrorNotice error={state.error} compact onRetry={() => explorer.dismissError()} />
            )}
            {state.skipped > 0 && (
              <Notice tone="warn" title={`${plural(state.skipped, 'node')} not shown`}>
                <p>The canvas holds at most {num(MAX_NODES)}. Remove some, or expand fewer.</p>
              </Notice>
            )}
          </div>
        )}
      </div>
      <aside className="graph-side" aria-label="About the graph">
        <Tabs<Side>
          label="About the graph"
          value={side}
          onChange={setSide}
          tabs={[
            {
              value: 'details',
              label: 'Selection',
              content: (
                <Selection
                  state={state}
                  onSelect={select}
                  onExpand={expand}
                  onHide={(id) => explorer.remove([id])}
                  onKeepAround={keepAround}
                  onEditNode={(node) => setEditing({ what: 'node', node })}
                  onEditEdge={(edge) => setEditing({ what: 'edge', edge, from: null })}
                  onConnect={(node) => setEditing({ what: 'edge', edge: null, from: node })}
                />
              ),
            },
            {
              value: 'shown',
              label: `Shown ${num(state.canvas.nodes.size)}`,
              content: (
                <NodeTree
                  state={state}
                  onSelect={select}
                  onExpand={expand}
                  onRemove={(id) => explorer.remove([id])}
                />
              ),
            },
            {
              value: 'history',
              label: 'History',
              content: (
                <History
                  state={state}
                  busy={undo.busy}
                  onCommand={(command) => void step(command)}
                  onShow={(change) => void showChange(change)}
                />
              ),
            },
          ]}
        />
      </aside>
      {editing?.what === 'node' && (
        <NodeDialog
          node={editing.node}
          onClose={() => setEditing(null)}
          onDone={(node) => {
            setEditing(null)
            select({ kind: 'node', id: node.id })
          }}
        />
      )}
      {editing?.what === 'edge' && (
        <EdgeDialog
          edge={editing.edge}
          from={editing.from}
          canvas={state.canvas}
          onClose={() => setEditing(null)}
          onDone={(edge, ends) => {
            setEditing(null)
            void explorer.add(ends).then(() => explorer.select({ kind: 'edge', id: edge.id }))
          }}
        />
      )}
      {refused && undo.failure && (
        <UndoDialog
          failure={undo.failure}
          command={refused}
          canvas={state.canvas}
          busy={undo.busy}
          onRun={(command) => void step(command)}
          onClose={() => setRefused(null)}
        />
      )}
    </div>
  )
}

function selectedNode(
  selected: Ref | null,
  explorer: { snapshot: () => { canvas: { nodes: ReadonlyMap<string, { node: GraphNode }> } } },
): GraphNode | null {
  return selected?.kind === 'node' ? (explorer.snapshot().canvas.nodes.get(selected.id)?.node ?? null) : null
}
