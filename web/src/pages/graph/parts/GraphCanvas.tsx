// The canvas and its keyboard interface.

import {
  useEffect,
  useId,
  useImperativeHandle,
  useRef,
  type KeyboardEvent,
  type Ref as ReactRef,
} from 'react'

import { useScheme } from '@/ui/scheme'

import type { ExplorerState } from '../data/explorer'
import { LayoutClient, workerPort } from '../layout/client'
import { incidenceOf, type Canvas } from '../model/canvas'
import type { Ref } from '../model/types'
import { edgeText, nodeText } from '../model/descriptions'
import type { ArrowDirection } from '../view/hit'
import { readPalette } from '../view/palette'
import { sceneOf, type Scene } from '../view/scene'
import { CanvasView } from '../view/view'
import { nodeNamer } from './context'

/** The operations of the buttons beside the canvas. */
export interface CanvasControls {
  fit: () => void
  zoom: (factor: number) => void
  /** Computes the layout of all nodes again. */
  relayout: () => void
  focus: () => void
}

export interface GraphCanvasProps {
  state: ExplorerState
  onSelect: (ref: Ref | null) => void
  onExpand: (id: string) => void
  onRemove: (id: string) => void
  controls: ReactRef<CanvasControls>
}

const ARROWS: Record<string, ArrowDirection> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
}
const STEP = 60

export function GraphCanvas({ state, onSelect, onExpand, onRemove, controls }: GraphCanvasProps) {
  const host = useRef<HTMLDivElement>(null)
  const surface = useRef<HTMLCanvasElement>(null)
  const drawing = useRef<{ view: CanvasView; layout: LayoutClient } | null>(null)
  const latest = useRef({ onSelect, onExpand })
  const drawn = useRef<Scene | null>(null)
  const help = useId()
  const scheme = useScheme()
  useEffect(() => {
    latest.current = { onSelect, onExpand }
  })

  useEffect(() => {
    const canvas = surface.current
    const box = host.current
    if (!canvas || !box) return
    const layout: LayoutClient = new LayoutClient(workerPort(), () => view.onLayoutChange())
    const view: CanvasView = new CanvasView(canvas, layout, {
      onSelect: (ref) => latest.current.onSelect(ref),
      onOpen: (id) => latest.current.onExpand(id),
    })
    drawing.current = { view, layout }
    const resize = new ResizeObserver(() =>
      view.setSize({ width: box.clientWidth, height: box.clientHeight }),
    )
    resize.observe(box)
    const motionQuery = window.matchMedia('(prefers-reduced-motion: reduce)')
    const applyMotion = () => {
      layout.setReducedMotion(motionQuery.matches)
      view.setReducedMotion(motionQuery.matches)
    }
    applyMotion()
    motionQuery.addEventListener('change', applyMotion)
    return () => {
      motionQuery.removeEventListener('change', applyMotion)
      resize.disconnect()
      view.close()
      layout.close()
      drawing.current = null
      drawn.current = null
    }
  }, [])

  useEffect(() => {
    if (surface.current) drawing.current?.view.setPalette(readPalette(surface.current))
  }, [scheme])

  useEffect(() => {
    if (!drawing.current) return
    const { view, layout } = drawing.current
    const scene = sceneOf(state.canvas)
    if (!drawn.current || !sameStructure(drawn.current, scene)) updateLayout(layout, scene)
    drawn.current = scene
    view.setScene(scene)
  }, [state.canvas])

  useEffect(() => {
    drawing.current?.view.setSelected(state.selected)
    if (state.selected?.kind === 'node') drawing.current?.view.reveal(state.selected.id)
  }, [state.selected])

  useEffect(() => {
    if (state.highlighted.length > 0) drawing.current?.view.flash(state.highlighted)
  }, [state.highlighted])

  useImperativeHandle(controls, () => ({
    fit: () => drawing.current?.view.fit(),
    zoom: (factor) => drawing.current?.view.zoom(factor),
    relayout: () => {
      drawing.current?.layout.unpin()
      drawing.current?.layout.restart()
    },
    focus: () => host.current?.focus(),
  }))

  const onKeyDown = (event: KeyboardEvent) => {
    const view = drawing.current?.view
    if (!view || event.ctrlKey || event.metaKey || event.altKey) return
    if (handleKey(event, view, state.selected, { onSelect, onExpand, onRemove })) event.preventDefault()
  }

  return (
    <>
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- an application takes keys */}
      <div
        ref={host}
        className="graph-stage"
        role="application"
        aria-label="Graph"
        aria-roledescription="graph canvas"
        aria-describedby={help}
        // The canvas is keyboard-operable.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
        onKeyDown={onKeyDown}
      >
        <canvas ref={surface} className="graph-canvas" />
      </div>
      <p id={help} className="sr-only">
        Arrow keys move between nodes, Enter expands, Delete removes a node from the canvas, plus and minus
        zoom, 0 shows all, Shift and arrow keys pan. The list under “Shown” has the same content.
      </p>
      <p className="sr-only" role="status">
        {selectionText(state.canvas, state.selected)}
      </p>
    </>
  )
}

interface CanvasActions {
  onSelect: (ref: Ref | null) => void
  onExpand: (id: string) => void
  onRemove: (id: string) => void
}

/** Handles a key on the canvas. Returns false if the key has no function. */
function handleKey(
  event: KeyboardEvent,
  view: CanvasView,
  selected: Ref | null,
  actions: CanvasActions,
): boolean {
  const direction = ARROWS[event.key]
  const node = selected?.kind === 'node' ? selected.id : null
  switch (true) {
    case direction !== undefined && event.shiftKey:
      view.scroll(
        direction === 'left' ? STEP : direction === 'right' ? -STEP : 0,
        direction === 'up' ? STEP : direction === 'down' ? -STEP : 0,
      )
      return true
    case direction !== undefined: {
      const next = view.nodeTowards(direction)
      if (next) actions.onSelect({ kind: 'node', id: next })
      return true
    }
    case event.key === '+' || event.key === '=':
      view.zoom(1.3)
      return true
    case event.key === '-':
      view.zoom(1 / 1.3)
      return true
    case event.key === '0':
      view.fit()
      return true
    case event.key === 'Escape':
      actions.onSelect(null)
      return selected !== null
    case event.key === 'Enter' && node !== null:
      actions.onExpand(node)
      return true
    case (event.key === 'Delete' || event.key === 'Backspace') && node !== null:
      actions.onRemove(node)
      return true
    default:
      return false
  }
}

function selectionText(canvas: Canvas, selected: Ref | null): string {
  if (!selected) return ''
  const node = canvas.nodes.get(selected.id)
  if (node) return nodeText(node, incidenceOf(canvas).get(selected.id) ?? [])
  const edge = canvas.edges.get(selected.id)
  return edge ? edgeText(edge, nodeNamer(canvas)) : ''
}

function sameStructure(a: Scene, b: Scene): boolean {
  return (
    a.nodes.length === b.nodes.length &&
    a.edges.length === b.edges.length &&
    a.nodes.every((node, i) => node.id === b.nodes[i]?.id) &&
    a.edges.every((edge, i) => edge.id === b.edges[i]?.id)
  )
}

function updateLayout(layout: LayoutClient, scene: Scene): void {
  const ids = scene.nodes.map((node) => node.id)
  const bodies = scene.nodes.map(({ id, radius }) => ({ id, radius }))
  const springs = scene.edges.map((edge) => ({
    source: ids[edge.source] ?? '',
    target: ids[edge.target] ?? '',
  }))
  layout.setGraph(ids, bodies, springs)
}
