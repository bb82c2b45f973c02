// The search above the canvas. It finds nodes by name, type and property and adds the selected ones to the canvas.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Plus, SlidersHorizontal } from 'lucide-react'
import { useDeferredValue, useId, useRef, useState, type KeyboardEvent } from 'react'

import {
  Button,
  Checkbox,
  ErrorNotice,
  Field,
  IconButton,
  Input,
  Name,
  num,
  plural,
  SearchInput,
  Skeleton,
} from '@/ui'

import { NO_FILTER, type NodeFilter } from '../data/source'
import type { Canvas } from '../model/canvas'
import { ENTITY_TYPES, type EntityType, type GraphNode } from '../model/types'
import { ENTITY_LABELS } from '../model/descriptions'
import { useShared } from './context'
import { TypeIcon } from './TypeIcon'

const PAGE = 50

export function NodeSearch({
  canvas,
  onPick,
  onPickAll,
}: {
  canvas: Canvas
  onPick: (node: GraphNode) => void
  onPickAll: (nodes: GraphNode[]) => void
}) {
  const { workspace, source } = useShared()
  const [filter, setFilter] = useState<NodeFilter>(NO_FILTER)
  const [open, setOpen] = useState(false)
  const [filtersOpen, setFiltersOpen] = useState(false)
  const asked = useDeferredValue(filter)
  const box = useRef<HTMLDivElement>(null)
  /** Set when the focus returns without user action: the results stay closed. */
  const suppressOpen = useRef(false)
  const id = useId()
  const found = useInfiniteQuery({
    queryKey: ['graph', workspace, 'find', asked],
    queryFn: ({ pageParam, signal }) => source.find(asked, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
    enabled: open,
  })
  const nodes = found.data?.pages.flatMap((page) => page.data) ?? []
  const total = found.data?.pages[0]?.meta.total ?? 0
  const close = () => {
    setOpen(false)
    setFiltersOpen(false)
  }
  /** Closes the results and focuses the input. */
  const closeToInput = () => {
    close()
    suppressOpen.current = true
    box.current?.querySelector('input')?.focus()
    suppressOpen.current = false
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && open) {
      event.stopPropagation()
      closeToInput()
    }
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      setOpen(true)
      moveFocus(event, box.current)
    }
  }
  return (
    // Key events bubble up from the controls inside.
    // eslint-disable-next-line jsx-a11y/no-static-element-interactions
    <div
      className="graph-finder"
      ref={box}
      onKeyDown={onKeyDown}
      onFocus={(event) => event.target instanceof HTMLInputElement && !suppressOpen.current && setOpen(true)}
      onBlur={(event) => {
        const next = event.relatedTarget
        if (next instanceof Node && !event.currentTarget.contains(next)) close()
      }}
    >
      <div className="graph-finder-bar">
        <SearchInput
          label="Find nodes by name"
          placeholder="Find nodes…"
          value={filter.name}
          onChange={(name) => {
            setFilter({ ...filter, name })
            if (name !== '') setOpen(true)
          }}
        />
        <IconButton
          label="Filter by type or property"
          pressed={filtersOpen}
          aria-expanded={filtersOpen}
          aria-controls={id}
          onClick={() => {
            setFiltersOpen(!filtersOpen)
            setOpen(true)
          }}
        >
          <SlidersHorizontal size={16} />
        </IconButton>
      </div>
      {open && (
        <div className="graph-finder-drop" id={id}>
          {filtersOpen && <Filters filter={filter} onChange={setFilter} />}
          {found.error ? (
            <ErrorNotice error={found.error} compact onRetry={() => void found.refetch()} />
          ) : found.isPending ? (
            <Skeleton lines={4} />
          ) : (
            <Results
              nodes={nodes}
              total={total}
              canvas={canvas}
              onPick={(node) => {
                closeToInput()
                onPick(node)
              }}
            />
          )}
          {nodes.length > 0 && (
            <div className="graph-finder-foot">
              {found.hasNextPage && (
                <Button
                  size="s"
                  variant="ghost"
                  busy={found.isFetchingNextPage}
                  onClick={() => void found.fetchNextPage()}
                >
                  Show more
                </Button>
              )}
              <Button
                size="s"
                icon={<Plus size={14} />}
                onClick={() => {
                  closeToInput()
                  onPickAll(nodes)
                }}
              >
                Add {nodes.length === 1 ? 'it' : `all ${num(nodes.length)}`}
              </Button>
            </div>
          )}
        </div>
      )}
    </div>
  )
}

/** Moves the focus between the input and the results by the up and down keys. */
function moveFocus(event: KeyboardEvent, box: HTMLElement | null): void {
  const focusable = [...(box?.querySelectorAll<HTMLElement>('input[type=search], .graph-result') ?? [])]
  const at = focusable.indexOf(event.target as HTMLElement)
  const next = focusable[at + (event.key === 'ArrowDown' ? 1 : -1)]
  if (at < 0 || !next) return
  event.preventDefault()
  next.focus()
}

function Results({
  nodes,
  total,
  canvas,
  onPick,
}: {
  nodes: GraphNode[]
  total: number
  canvas: Canvas
  onPick: (node: GraphNode) => void
}) {
  if (nodes.length === 0) {
    return (
      <p className="graph-finder-none" role="status">
        No matching nodes. The text can be any part of the name; a property must equal the value.
      </p>
    )
  }
  return (
    <>
      <p className="graph-finder-count" role="status">
        {plural(total, 'node')}
      </p>
      <ul className="graph-results">
        {nodes.map((node) => (
          <li key={node.id}>
            <button type="button" className="graph-result" onClick={() => onPick(node)}>
              <TypeIcon type={node.entityType} named />
              <Name text={node.name} max={120} />
              {canvas.nodes.has(node.id) && <span className="graph-result-note">shown</span>}
            </button>
          </li>
        ))}
      </ul>
    </>
  )
}

function Filters({ filter, onChange }: { filter: NodeFilter; onChange: (filter: NodeFilter) => void }) {
  const toggle = (type: EntityType, on: boolean) =>
    onChange({
      ...filter,
      entityTypes: ENTITY_TYPES.filter((item) => (item === type ? on : filter.entityTypes.includes(item))),
    })
  return (
    <div className="graph-filters">
      <fieldset className="graph-types">
        <legend className="field-label">Types</legend>
        {ENTITY_TYPES.map((type) => (
          <Checkbox
            key={type}
            checked={filter.entityTypes.includes(type)}
            onChange={(event) => toggle(type, event.target.checked)}
            label={
              <>
                <TypeIcon type={type} /> {ENTITY_LABELS[type]}
              </>
            }
          />
        ))}
      </fieldset>
      <div className="graph-property">
        <Field label="Property">
          <Input
            value={filter.property.key}
            placeholder="site"
            spellCheck={false}
            onChange={(event) =>
              onChange({ ...filter, property: { ...filter.property, key: event.target.value } })
            }
          />
        </Field>
        <Field label="is">
          <Input
            value={filter.property.value}
            placeholder="north"
            spellCheck={false}
            onChange={(event) =>
              onChange({ ...filter, property: { ...filter.property, value: event.target.value } })
            }
          />
        </Field>
      </div>
    </div>
  )
}
