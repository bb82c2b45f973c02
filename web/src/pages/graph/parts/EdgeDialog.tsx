// The form to create or edit an edge.

import { ArrowDownUp } from 'lucide-react'
import { useId, useState } from 'react'

import { Button, Dialog, Field, fieldError, Input, visible } from '@/ui'

import { useRunner } from '../data/commands'
import type { Canvas } from '../model/canvas'
import { updateOf, type Editable } from '../model/patch'
import { readRows, rowsOf } from '../model/rows'
import type { GraphEdge, GraphNode } from '../model/types'
import { EditConflictNotice, useEditConflict } from './EditConflictNotice'
import { FailureNotice } from './FailureNotice'
import { NodePicker } from './NodePicker'
import { PropertyRows } from './PropertyRows'

export interface EdgeDialogProps {
  /** The edge to edit; null to create one. */
  edge: GraphEdge | null
  /** The source of a new edge. */
  from: GraphNode | null
  canvas: Canvas
  onClose: () => void
  onDone: (edge: GraphEdge, ends: GraphNode[]) => void
}

export function EdgeDialog({ edge, from, canvas, onClose, onDone }: EdgeDialogProps) {
  const [base, setBase] = useState(edge)
  const [source, setSource] = useState(from)
  const [target, setTarget] = useState<GraphNode | null>(null)
  const [relationType, setRelationType] = useState(edge?.relationType ?? '')
  const [rows, setRows] = useState(() => rowsOf(edge?.properties ?? {}))
  const [checked, setChecked] = useState(false)
  const known = useId()
  const runner = useRunner()
  const read = readRows(rows)
  const mine: Editable = { relationType, properties: read.properties }
  const conflict = useEditConflict(base, mine, runner.failure)
  const types = [...new Set([...canvas.edges.values()].map((item) => item.relationType))].sort()

  const save = async () => {
    setChecked(true)
    if (relationType === '' || read.errors.size > 0 || (!base && (!source || !target))) return
    if (base) {
      const update = updateOf(base, mine)
      if (!update) {
        onClose()
        return
      }
      const saved = await runner.run({
        type: 'UPDATE_EDGE',
        payload: { id: base.id, ...update },
        expectedVersion: base.version,
      })
      if (saved?.edge) onDone(saved.edge, [])
      return
    }
    if (!source || !target) return
    const properties = Object.keys(read.properties).length > 0 ? { properties: read.properties } : {}
    const payload = { sourceId: source.id, targetId: target.id, relationType, ...properties }
    const made = await runner.run({ type: 'CREATE_EDGE', payload })
    if (made?.edge) onDone(made.edge, [source, target])
  }
  const take = (state: Editable, current: GraphEdge) => {
    setBase(current)
    setRelationType(state.relationType ?? '')
    setRows(rowsOf(state.properties))
    runner.reset()
  }

  return (
    <Dialog
      open
      sticky={runner.busy}
      onClose={onClose}
      title={edge ? `Edit ${visible(edge.relationType, 80)}` : 'New edge'}
      onSubmit={() => void save()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={runner.busy} disabled={conflict !== null}>
            {edge ? 'Save' : 'Connect'}
          </Button>
        </>
      }
    >
      <div className="stack">
        {!edge && (
          <>
            <NodePicker
              label="From"
              value={source}
              onChange={setSource}
              error={
                checked && !source ? 'Choose a source node.' : fieldError(runner.error, 'payload.sourceId')
              }
            />
            <div>
              <Button
                size="s"
                variant="ghost"
                icon={<ArrowDownUp size={14} />}
                onClick={() => {
                  setSource(target)
                  setTarget(source)
                }}
              >
                Swap source and target
              </Button>
            </div>
            <NodePicker
              label="To"
              value={target}
              onChange={setTarget}
              error={
                checked && !target ? 'Choose a target node.' : fieldError(runner.error, 'payload.targetId')
              }
            />
          </>
        )}
        <Field
          label="Relation"
          hint="Read from source to target: “Pump 7 feeds Boiler”."
          error={
            checked && relationType === ''
              ? 'Enter a relation.'
              : fieldError(runner.error, 'payload.relationType')
          }
        >
          <Input
            value={relationType}
            maxLength={128}
            list={known}
            spellCheck={false}
            onChange={(event) => setRelationType(event.target.value)}
          />
        </Field>
        <datalist id={known}>
          {types.slice(0, 100).map((type) => (
            <option key={type} value={type} />
          ))}
        </datalist>
        <PropertyRows rows={rows} errors={checked ? read.errors : new Map()} onChange={setRows} />
        {conflict ? (
          <EditConflictNotice
            conflict={conflict}
            onRebase={(merged, current) => take(merged, current as GraphEdge)}
            onDiscard={(current) => take(current, current as GraphEdge)}
          />
        ) : (
          runner.failure && <FailureNotice failure={runner.failure} />
        )}
      </div>
    </Dialog>
  )
}
