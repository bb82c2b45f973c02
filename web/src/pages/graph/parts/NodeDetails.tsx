// The details of a node: fields, connections, live data and actions.

import { Crosshair, EyeOff, MoreHorizontal, Pencil, Search, Spline, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { useNavigate } from 'react-router'

import {
  Badge,
  Button,
  Confirm,
  Copyable,
  Facts,
  IconButton,
  Menu,
  MenuItem,
  MenuSeparator,
  shortId,
  Time,
  visible,
} from '@/ui'

import { useRunner } from '../data/commands'
import type { ExpandOptions, CanvasNode } from '../model/canvas'
import { ENTITY_LABELS } from '../model/descriptions'
import { Connections } from './Connections'
import { useShared } from './context'
import { FailureNotice } from './FailureNotice'
import { LiveSources } from './LiveSources'
import { PropertyTable } from './PropertyTable'
import { TypeIcon } from './TypeIcon'

export interface NodeDetailsProps {
  shown: CanvasNode
  busy: boolean
  onExpand: (options: ExpandOptions, more: boolean) => void
  onEdit: () => void
  onConnect: () => void
  onHide: () => void
  onKeepAround: () => void
}

export function NodeDetails({
  shown,
  busy,
  onExpand,
  onEdit,
  onConnect,
  onHide,
  onKeepAround,
}: NodeDetailsProps) {
  const { node } = shown
  const { workspace } = useShared()
  const navigate = useNavigate()
  const [deleting, setDeleting] = useState(false)
  return (
    <article className="graph-details">
      <header className="graph-details-head">
        <TypeIcon type={node.entityType} size={22} />
        <div>
          <h2>
            <bdi>{visible(node.name)}</bdi>
          </h2>
          <p className="muted">
            {ENTITY_LABELS[node.entityType]} · version {node.version}
          </p>
        </div>
        <Menu
          trigger={
            <IconButton label="More actions" size="s">
              <MoreHorizontal size={16} />
            </IconButton>
          }
        >
          <MenuItem icon={<EyeOff size={14} />} onSelect={onHide}>
            Remove from the canvas
          </MenuItem>
          <MenuItem icon={<Crosshair size={14} />} onSelect={onKeepAround}>
            Show only its neighbors
          </MenuItem>
          <MenuItem
            icon={<Search size={14} />}
            onSelect={() =>
              void navigate(
                `/search?workspace=${workspace}&node=${node.id}&hops=1&q=${encodeURIComponent(node.name.slice(0, 200))}`,
              )
            }
          >
            Search from here
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={<Trash2 size={14} />} danger onSelect={() => setDeleting(true)}>
            Delete…
          </MenuItem>
        </Menu>
      </header>
      <div className="row">
        <Button size="s" icon={<Pencil size={14} />} onClick={onEdit}>
          Edit
        </Button>
        <Button size="s" icon={<Spline size={14} />} onClick={onConnect}>
          Connect
        </Button>
      </div>
      {node.description && <Description text={node.description} />}
      <h3>Connections</h3>
      <Connections shown={shown} busy={busy} onExpand={onExpand} />
      <h3>Properties</h3>
      <PropertyTable properties={node.properties} />
      <h3>Live data</h3>
      <LiveSources nodeId={node.id} />
      <h3>Record</h3>
      <Facts
        items={[
          ['Id', <Copyable key="id" text={node.id} shown={shortId(node.id)} label="Copy the id" />],
          ['Created', <Time key="created" at={node.createdAt} />],
          ['Changed', <Time key="changed" at={node.updatedAt} />],
          ['Version', <Badge key="version">{node.version}</Badge>],
        ]}
      />
      {deleting && <DeleteNode shown={shown} onClose={() => setDeleting(false)} />}
    </article>
  )
}

/** The number of characters of a description that are shown before it is unfolded. */
const FOLDED_LENGTH = 400

/** Renders each line separately, so that line breaks stay. */
const lines = (text: string) =>
  text
    .split(/\r?\n/)
    .map((line) => visible(line, line.length))
    .join('\n')

function Description({ text }: { text: string }) {
  const [open, setOpen] = useState(false)
  const long = text.length > FOLDED_LENGTH
  return (
    <div className="graph-description">
      <p dir="auto">{lines(long && !open ? `${text.slice(0, FOLDED_LENGTH)}…` : text)}</p>
      {long && (
        <Button size="s" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Show less' : 'Show all'}
        </Button>
      )}
    </div>
  )
}

function DeleteNode({ shown, onClose }: { shown: CanvasNode; onClose: () => void }) {
  const { node } = shown
  const runner = useRunner()
  const remove = async () => {
    if (await runner.run({ type: 'DELETE_NODE', payload: { id: node.id }, expectedVersion: node.version }))
      onClose()
  }
  return (
    <Confirm
      open
      danger
      title={`Delete ${visible(node.name, 80)}?`}
      action="Delete the node"
      busy={runner.busy}
      onClose={onClose}
      onConfirm={() => void remove()}
    >
      <p>
        All its edges are deleted too, including those that are not on the canvas. You can undo this here and
        in the history.
      </p>
      {runner.failure && <FailureNotice failure={runner.failure} />}
    </Confirm>
  )
}
