// The canvas as a tree: nodes, and below each its edges. It makes the canvas accessible without sight.

import { useMemo, useRef, useState, type KeyboardEvent } from 'react'

import { Badge, Empty, plural, SearchInput } from '@/ui'

import type { ExplorerState } from '../data/explorer'
import { treeRows, outlineOf, type TreeRow } from '../model/outline'
import type { Ref } from '../model/types'
import { ENTITY_LABELS } from '../model/descriptions'
import { TypeIcon } from './TypeIcon'

export interface NodeTreeProps {
  state: ExplorerState
  onSelect: (ref: Ref) => void
  onExpand: (id: string) => void
  onRemove: (id: string) => void
}

/** The maximum number of rendered rows. */
const MAX_ROWS = 400

export function NodeTree({ state, onSelect, onExpand, onRemove }: NodeTreeProps) {
  const [text, setText] = useState('')
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const [at, setAt] = useState<string | null>(null)
  const tree = useRef<HTMLDivElement>(null)
  const outline = useMemo(() => outlineOf(state.canvas, text), [state.canvas, text])
  const all = useMemo(() => treeRows(outline, unfolded), [outline, unfolded])
  const rows = all.slice(0, MAX_ROWS)
  const current =
    rows.find((line) => line.key === at) ?? rows.find((line) => line.key === state.selected?.id) ?? rows[0]

  const moveTo = (line: TreeRow | undefined) => {
    if (!line) return
    setAt(line.key)
    tree.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(line.key)}"]`)?.focus()
  }
  const fold = (id: string, open: boolean) => {
    const next = new Set(unfolded)
    if (open) next.add(id)
    else next.delete(id)
    setUnfolded(next)
  }
  const activate = (line: TreeRow) =>
    onSelect(
      line.relation
        ? { kind: 'edge', id: line.relation.incidence.edge.id }
        : { kind: 'node', id: line.node.shown.node.id },
    )

  const onKeyDown = (event: KeyboardEvent) => {
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return
    const i = rows.indexOf(current)
    const id = current.node.shown.node.id
    const open = unfolded.has(id)
    switch (event.key) {
      case 'ArrowDown':
        moveTo(rows[i + 1])
        break
      case 'ArrowUp':
        moveTo(rows[i - 1])
        break
      case 'Home':
        moveTo(rows[0])
        break
      case 'End':
        moveTo(rows.at(-1))
        break
      case 'ArrowRight':
        if (current.level === 1 && !open) fold(id, true)
        else if (current.level === 1) moveTo(rows[i + 1])
        break
      case 'ArrowLeft':
        if (current.level === 2) moveTo(rows.find((line) => line.key === id))
        else fold(id, false)
        break
      case 'Enter':
      case ' ':
        activate(current)
        break
      case 'e':
        onExpand(id)
        break
      case 'Delete':
        onRemove(id)
        break
      default:
        return
    }
    event.preventDefault()
  }

  if (state.canvas.nodes.size === 0) {
    return (
      <Empty title="Nothing on the canvas">
        <p>Find a node above the canvas and select it. Then expand it.</p>
      </Empty>
    )
  }
  return (
    <div className="graph-shown">
      <div className="row">
        <SearchInput label="Filter the list" placeholder="Filter the list…" value={text} onChange={setText} />
      </div>
      <p className="graph-shown-hint">
        Arrow keys move and expand rows, <kbd>Enter</kbd> selects, <kbd>E</kbd> expands the node,{' '}
        <kbd>Delete</kbd> removes it from the canvas.
      </p>
      {/* eslint-disable-next-line jsx-a11y/interactive-supports-focus -- one of its lines has the focus */}
      <div
        className="graph-tree"
        role="tree"
        aria-label="Nodes on the canvas"
        ref={tree}
        onKeyDown={onKeyDown}
      >
        {rows.map((line) => (
          <TreeRowView
            key={line.key}
            row={line}
            state={state}
            unfolded={unfolded.has(line.node.shown.node.id)}
            current={line === current}
            onPress={() => {
              setAt(line.key)
              activate(line)
            }}
            onFold={(open) => fold(line.node.shown.node.id, open)}
          />
        ))}
      </div>
      {outline.length === 0 && <p className="muted">No name contains “{text}”.</p>}
      {all.length > rows.length && (
        <p className="muted">{plural(all.length - rows.length, 'line')} more: filter the list to see them.</p>
      )}
    </div>
  )
}

interface TreeRowProps {
  row: TreeRow
  state: ExplorerState
  unfolded: boolean
  current: boolean
  onPress: () => void
  onFold: (open: boolean) => void
}

function TreeRowView({ row, state, unfolded, current, onPress, onFold }: TreeRowProps) {
  const { shown, relations } = { shown: row.node.shown, relations: row.node.relations }
  const id = row.relation ? row.relation.incidence.edge.id : shown.node.id
  return (
    // The tree handles the keys of all its rows.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      role="treeitem"
      className={row.level === 1 ? 'graph-line' : 'graph-line graph-line-2'}
      data-key={row.key}
      tabIndex={current ? 0 : -1}
      aria-level={row.level}
      aria-posinset={row.position}
      aria-setsize={row.size}
      aria-selected={state.selected?.id === id}
      aria-expanded={row.level === 1 && relations.length > 0 ? unfolded : undefined}
      onClick={onPress}
    >
      {row.relation ? (
        <bdi className="name">{row.relation.text}</bdi>
      ) : (
        <>
          {/* For the mouse only; the keyboard uses the arrow keys. */}
          <span
            className="graph-fold"
            aria-hidden="true"
            onClick={(event) => {
              event.stopPropagation()
              onFold(!unfolded)
            }}
          >
            {relations.length > 0 ? (unfolded ? '▾' : '▸') : ''}
          </span>
          <TypeIcon type={shown.node.entityType} />
          <bdi className="name">{row.node.name}</bdi>
          <span className="sr-only">, {ENTITY_LABELS[shown.node.entityType]}</span>
          {shown.unseen > 0 && <Badge tone="accent">+{shown.unseen}</Badge>}
          <span className="graph-line-count">
            {relations.length}
            <span className="sr-only"> edges</span>
          </span>
        </>
      )}
    </div>
  )
}
