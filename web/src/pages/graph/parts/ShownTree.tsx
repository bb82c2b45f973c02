// Everything on the canvas as a tree: nodes, and below each its edges. What the canvas shows, without seeing it.

import { useMemo, useRef, useState, type KeyboardEvent } from 'react'

import { Badge, Empty, plural, SearchInput } from '@/ui'

import type { ExplorerState } from '../data/explorer'
import { linesOf, outlineOf, type Line } from '../model/outline'
import type { Ref } from '../model/types'
import { ENTITY_LABELS } from '../model/words'
import { TypeMark } from './TypeMark'

export interface ShownTreeProps {
  state: ExplorerState
  onSelect: (ref: Ref) => void
  onExpand: (id: string) => void
  onRemove: (id: string) => void
}

/** Lines that are put on the page at once. */
const MOST_LINES = 400

export function ShownTree({ state, onSelect, onExpand, onRemove }: ShownTreeProps) {
  const [text, setText] = useState('')
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set())
  const [at, setAt] = useState<string | null>(null)
  const tree = useRef<HTMLDivElement>(null)
  const outline = useMemo(() => outlineOf(state.canvas, text), [state.canvas, text])
  const all = useMemo(() => linesOf(outline, unfolded), [outline, unfolded])
  const lines = all.slice(0, MOST_LINES)
  const current =
    lines.find((line) => line.key === at) ?? lines.find((line) => line.key === state.selected?.id) ?? lines[0]

  const go = (line: Line | undefined) => {
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
  const act = (line: Line) =>
    onSelect(
      line.relation
        ? { kind: 'edge', id: line.relation.incidence.edge.id }
        : { kind: 'node', id: line.node.shown.node.id },
    )

  const onKeyDown = (event: KeyboardEvent) => {
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return
    const i = lines.indexOf(current)
    const id = current.node.shown.node.id
    const open = unfolded.has(id)
    switch (event.key) {
      case 'ArrowDown':
        go(lines[i + 1])
        break
      case 'ArrowUp':
        go(lines[i - 1])
        break
      case 'Home':
        go(lines[0])
        break
      case 'End':
        go(lines.at(-1))
        break
      case 'ArrowRight':
        if (current.level === 1 && !open) fold(id, true)
        else if (current.level === 1) go(lines[i + 1])
        break
      case 'ArrowLeft':
        if (current.level === 2) go(lines.find((line) => line.key === id))
        else fold(id, false)
        break
      case 'Enter':
      case ' ':
        act(current)
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
        {lines.map((line) => (
          <TreeLine
            key={line.key}
            line={line}
            state={state}
            unfolded={unfolded.has(line.node.shown.node.id)}
            current={line === current}
            onPress={() => {
              setAt(line.key)
              act(line)
            }}
            onFold={(open) => fold(line.node.shown.node.id, open)}
          />
        ))}
      </div>
      {outline.length === 0 && <p className="muted">No name contains “{text}”.</p>}
      {all.length > lines.length && (
        <p className="muted">
          {plural(all.length - lines.length, 'line')} more: filter the list to see them.
        </p>
      )}
    </div>
  )
}

interface TreeLineProps {
  line: Line
  state: ExplorerState
  unfolded: boolean
  current: boolean
  onPress: () => void
  onFold: (open: boolean) => void
}

function TreeLine({ line, state, unfolded, current, onPress, onFold }: TreeLineProps) {
  const { shown, relations } = { shown: line.node.shown, relations: line.node.relations }
  const id = line.relation ? line.relation.incidence.edge.id : shown.node.id
  return (
    // The tree handles the keys of all its lines.
    // eslint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      role="treeitem"
      className={line.level === 1 ? 'graph-line' : 'graph-line graph-line-2'}
      data-key={line.key}
      tabIndex={current ? 0 : -1}
      aria-level={line.level}
      aria-posinset={line.position}
      aria-setsize={line.size}
      aria-selected={state.selected?.id === id}
      aria-expanded={line.level === 1 && relations.length > 0 ? unfolded : undefined}
      onClick={onPress}
    >
      {line.relation ? (
        <bdi className="name">{line.relation.text}</bdi>
      ) : (
        <>
          {/* For the mouse; the keyboard has the arrow keys. */}
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
          <TypeMark type={shown.node.entityType} />
          <bdi className="name">{line.node.name}</bdi>
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
