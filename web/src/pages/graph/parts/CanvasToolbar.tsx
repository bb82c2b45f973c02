// The toolbar above the canvas: view controls, actions and the legend.

import { Eraser, LocateFixed, Minus, Plus, Redo2, Spline, Undo2, Users, Wind, Workflow } from 'lucide-react'
import type { RefObject } from 'react'

import type { StreamState } from '@/api'
import { Button, CodeBlock, Dot, Empty, IconButton, Menu, MenuItem, plural, Skeleton } from '@/ui'

import type { ExplorerState } from '../data/explorer'
import { ENTITY_TYPES, type Command } from '../model/types'
import { ENTITY_LABELS } from '../model/descriptions'
import type { CanvasControls } from './GraphCanvas'
import { TypeIcon } from './TypeIcon'

export interface CanvasToolbarProps {
  state: ExplorerState
  stream: StreamState
  onReconnect: () => void
  controls: RefObject<CanvasControls | null>
  busy: boolean
  onNewNode: () => void
  onNewEdge: () => void
  onStep: (command: Command) => void
  onClear: () => void
}

export function CanvasToolbar({
  state,
  stream,
  onReconnect,
  controls,
  busy,
  onNewNode,
  onNewEdge,
  onStep,
  onClear,
}: CanvasToolbarProps) {
  const { nodes, edges } = state.canvas
  return (
    <>
      <div className="graph-bar graph-bar-top" role="toolbar" aria-label="Edit the graph">
        <Button size="s" icon={<Plus size={14} />} onClick={onNewNode}>
          Node
        </Button>
        <Button size="s" icon={<Spline size={14} />} onClick={onNewEdge}>
          Edge
        </Button>
        <IconButton
          label="Undo my last command"
          size="s"
          disabled={busy}
          onClick={() => onStep({ type: 'UNDO' })}
        >
          <Undo2 size={16} />
        </IconButton>
        <IconButton
          label="Redo my last undone command"
          size="s"
          disabled={busy}
          onClick={() => onStep({ type: 'REDO' })}
        >
          <Redo2 size={16} />
        </IconButton>
        <Menu
          trigger={
            <IconButton label="Undo or redo in the workspace" size="s" disabled={busy}>
              <Users size={16} />
            </IconButton>
          }
        >
          <MenuItem
            icon={<Undo2 size={14} />}
            onSelect={() => onStep({ type: 'UNDO', payload: { scope: 'workspace' } })}
          >
            Undo the workspace's last command
          </MenuItem>
          <MenuItem
            icon={<Redo2 size={14} />}
            onSelect={() => onStep({ type: 'REDO', payload: { scope: 'workspace' } })}
          >
            Redo the workspace's last undone command
          </MenuItem>
        </Menu>
      </div>
      <div className="graph-bar graph-bar-view" role="toolbar" aria-label="Pan" aria-orientation="vertical">
        <IconButton label="Zoom in" size="s" onClick={() => controls.current?.zoom(1.35)}>
          <Plus size={16} />
        </IconButton>
        <IconButton label="Zoom out" size="s" onClick={() => controls.current?.zoom(1 / 1.35)}>
          <Minus size={16} />
        </IconButton>
        <IconButton label="Show all" size="s" onClick={() => controls.current?.fit()}>
          <LocateFixed size={16} />
        </IconButton>
        <IconButton
          label="Release fixed nodes and arrange again"
          size="s"
          onClick={() => controls.current?.relayout()}
        >
          <Wind size={16} />
        </IconButton>
        <IconButton label="Clear the canvas" size="s" disabled={nodes.size === 0} onClick={onClear}>
          <Eraser size={16} />
        </IconButton>
      </div>
      <div className="graph-foot">
        <ul className="graph-legend" aria-label="Legend">
          {ENTITY_TYPES.map((type) => (
            <li key={type}>
              <TypeIcon type={type} /> {ENTITY_LABELS[type]}
            </li>
          ))}
        </ul>
        <span className="graph-count">
          {plural(nodes.size, 'node')}, {plural(edges.size, 'edge')}
        </span>
        <Live stream={stream} onReconnect={onReconnect} />
      </div>
    </>
  )
}

function Live({ stream, onReconnect }: { stream: StreamState; onReconnect: () => void }) {
  switch (stream.status) {
    case 'open':
      return (
        <span className="graph-live-state">
          <Dot tone="ok" pulse /> Live
        </span>
      )
    case 'connecting':
      return (
        <span className="graph-live-state">
          <Dot tone="neutral" /> Connecting
        </span>
      )
    case 'waiting':
      return (
        <span className="graph-live-state" role="status" title={stream.error.message}>
          <Dot tone="bad" /> Reconnecting
        </span>
      )
    case 'failed':
      return (
        <span className="graph-live-state" role="status" title={stream.error.message}>
          <Dot tone="bad" /> Disconnected
          <Button size="s" onClick={onReconnect}>
            Reconnect
          </Button>
        </span>
      )
  }
}

const FIRST = `curl -s $LIVEGRAPH_URL/api/commands/execute -H "Authorization: Bearer $LIVEGRAPH_API_KEY" -H "x-workspace-id: $LIVEGRAPH_WORKSPACE_ID" \\
  -H 'Content-Type: application/json' \\
  --data-raw '{"type":"CREATE_NODE","payload":{"name":"Pump 7","entityType":"object"}}'`

/** Shown in the middle of an empty canvas. */
export function CanvasMessage({
  state,
  onNewNode,
  onStart,
}: {
  state: ExplorerState
  onNewNode: () => void
  onStart: () => void
}) {
  if (state.canvas.nodes.size > 0 || state.error) return null
  if (state.starting) {
    return (
      <div className="graph-note">
        <Skeleton lines={3} width={220} />
      </div>
    )
  }
  return (
    <div className="graph-note">
      <Empty
        icon={<Workflow size={20} />}
        title="The canvas is empty"
        actions={
          <>
            <Button variant="primary" onClick={onNewNode}>
              New node
            </Button>
            <Button onClick={onStart}>Show the first nodes</Button>
          </>
        }
      >
        <p>Find nodes above, or create the first one here or through the API:</p>
        <CodeBlock code={FIRST} label="New node" />
        <p>
          <code>livegraph demo</code> fills the workspace with a graph of this machine.
        </p>
      </Empty>
    </div>
  )
}
