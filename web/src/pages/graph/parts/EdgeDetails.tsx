// The details of an edge.

import { ArrowDown, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { Button, Confirm, Copyable, Facts, Name, shortId, Time, visible } from '@/ui'

import { useRunner } from '../data/commands'
import type { Canvas } from '../model/canvas'
import type { GraphEdge } from '../model/types'
import { edgeText } from '../model/descriptions'
import { nodeNamer } from './context'
import { FailureNotice } from './FailureNotice'
import { PropertyTable } from './PropertyTable'
import { TypeIcon } from './TypeIcon'

export interface EdgeDetailsProps {
  edge: GraphEdge
  canvas: Canvas
  onSelectNode: (id: string) => void
  onEdit: () => void
}

export function EdgeDetails({ edge, canvas, onSelectNode, onEdit }: EdgeDetailsProps) {
  const [deleting, setDeleting] = useState(false)
  const end = (id: string) => {
    const shown = canvas.nodes.get(id)
    return (
      <button type="button" className="graph-end" onClick={() => onSelectNode(id)}>
        {shown && <TypeIcon type={shown.node.entityType} />}
        <Name text={shown?.node.name ?? id} />
      </button>
    )
  }
  return (
    <article className="graph-details">
      <h2 className="sr-only">Edge {edgeText(edge, nodeNamer(canvas))}</h2>
      <div className="graph-ends">
        {end(edge.sourceId)}
        <span className="graph-ends-relation">
          <ArrowDown size={14} aria-hidden="true" />
          <b>
            <bdi>{visible(edge.relationType)}</bdi>
          </b>
        </span>
        {end(edge.targetId)}
      </div>
      <div className="row">
        <Button size="s" icon={<Pencil size={14} />} onClick={onEdit}>
          Edit
        </Button>
        <Button size="s" icon={<Trash2 size={14} />} onClick={() => setDeleting(true)}>
          Delete
        </Button>
      </div>
      <h3>Properties</h3>
      <PropertyTable properties={edge.properties} />
      <h3>Record</h3>
      <Facts
        items={[
          ['Id', <Copyable key="id" text={edge.id} shown={shortId(edge.id)} label="Copy the id" />],
          ['Created', <Time key="created" at={edge.createdAt} />],
          ['Changed', <Time key="changed" at={edge.updatedAt} />],
          ['Version', edge.version],
        ]}
      />
      {deleting && (
        <DeleteEdge edge={edge} text={edgeText(edge, nodeNamer(canvas))} onClose={() => setDeleting(false)} />
      )}
    </article>
  )
}

function DeleteEdge({ edge, text, onClose }: { edge: GraphEdge; text: string; onClose: () => void }) {
  const runner = useRunner()
  const remove = async () => {
    if (await runner.run({ type: 'DELETE_EDGE', payload: { id: edge.id }, expectedVersion: edge.version }))
      onClose()
  }
  return (
    <Confirm
      open
      danger
      title="Delete this edge?"
      action="Delete the edge"
      busy={runner.busy}
      onClose={onClose}
      onConfirm={() => void remove()}
    >
      <p>{text}</p>
      <p>The nodes remain. You can undo this here and in the history.</p>
      {runner.failure && <FailureNotice failure={runner.failure} />}
    </Confirm>
  )
}
