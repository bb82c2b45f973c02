import { MousePointerClick } from 'lucide-react'

import { Empty } from '@/ui'

import type { ExplorerState } from '../data/explorer'
import type { ExpandOptions } from '../model/canvas'
import type { GraphEdge, GraphNode, Ref } from '../model/types'
import { EdgeDetails } from './EdgeDetails'
import { NodeDetails } from './NodeDetails'

export interface SelectionProps {
  state: ExplorerState
  onSelect: (ref: Ref | null) => void
  onExpand: (id: string, options: ExpandOptions, more: boolean) => void
  onHide: (id: string) => void
  onKeepAround: (id: string) => void
  onEditNode: (node: GraphNode) => void
  onEditEdge: (edge: GraphEdge) => void
  onConnect: (node: GraphNode) => void
}

/** The details of the selection, or a hint how to select. */
export function Selection(props: SelectionProps) {
  const { state, onSelect } = props
  const { selected, canvas } = state
  const shown = selected?.kind === 'node' ? canvas.nodes.get(selected.id) : undefined
  const edge = selected?.kind === 'edge' ? canvas.edges.get(selected.id) : undefined
  if (shown) {
    const { id } = shown.node
    return (
      <NodeDetails
        key={id}
        shown={shown}
        busy={state.expanding.has(id)}
        onExpand={(options, more) => props.onExpand(id, options, more)}
        onEdit={() => props.onEditNode(shown.node)}
        onConnect={() => props.onConnect(shown.node)}
        onHide={() => props.onHide(id)}
        onKeepAround={() => props.onKeepAround(id)}
      />
    )
  }
  if (edge) {
    return (
      <EdgeDetails
        key={edge.id}
        edge={edge}
        canvas={canvas}
        onSelectNode={(id) => onSelect({ kind: 'node', id })}
        onEdit={() => props.onEditEdge(edge)}
      />
    )
  }
  return (
    <Empty icon={<MousePointerClick size={20} />} title="Nothing selected">
      <p>
        Click a node or an edge to see its details. Double-click a node to expand it. Drag a node to fix its
        position.
      </p>
      <p>
        By keyboard: arrow keys on the canvas, <kbd>Enter</kbd> to expand, <kbd>0</kbd> to show all.
      </p>
    </Empty>
  )
}
