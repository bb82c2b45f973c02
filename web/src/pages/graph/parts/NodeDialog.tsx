// The form to create or edit a node.

import { useState } from 'react'

import { Button, Dialog, Field, fieldError, Input, Select, Textarea, visible } from '@/ui'

import { useRunner } from '../data/commands'
import { updateOf, type Editable } from '../model/patch'
import { readRows, rowsOf, type Row } from '../model/rows'
import { ENTITY_TYPES, type EntityType, type GraphNode } from '../model/types'
import { ENTITY_LABELS } from '../model/descriptions'
import { EditConflictNotice, useEditConflict } from './EditConflictNotice'
import { FailureNotice } from './FailureNotice'
import { PropertyRows } from './PropertyRows'

export interface NodeDialogProps {
  /** The node to edit, as of when the dialog was opened; null to create one. */
  node: GraphNode | null
  onClose: () => void
  onDone: (node: GraphNode) => void
}

interface Draft {
  name: string
  entityType: EntityType
  description: string
  rows: Row[]
}

const draftOf = (node: Editable | null): Draft => ({
  name: node?.name ?? '',
  entityType: (node?.entityType as EntityType | undefined) ?? 'object',
  description: node?.description ?? '',
  rows: rowsOf(node?.properties ?? {}),
})

export function NodeDialog({ node, onClose, onDone }: NodeDialogProps) {
  // The state that the edits are compared with. It changes when the change of another user is applied.
  const [base, setBase] = useState(node)
  const [draft, setDraft] = useState(() => draftOf(node))
  const [checked, setChecked] = useState(false)
  const runner = useRunner()
  const read = readRows(draft.rows)
  const mine: Editable = {
    name: draft.name,
    entityType: draft.entityType,
    description: draft.description === '' ? null : draft.description,
    properties: read.properties,
  }
  const conflict = useEditConflict(base, mine, runner.failure)
  const nameMissing = checked && draft.name.trim() === '' ? 'Enter a name.' : undefined

  const save = async (against: GraphNode | null) => {
    setChecked(true)
    if (draft.name.trim() === '' || read.errors.size > 0) return
    if (!against) {
      const { description, properties, ...rest } = mine
      const payload = {
        ...rest,
        ...(description == null ? {} : { description }),
        ...(Object.keys(properties).length > 0 ? { properties } : {}),
      }
      const made = await runner.run({ type: 'CREATE_NODE', payload })
      if (made?.node) onDone(made.node)
      return
    }
    const update = updateOf(against, mine)
    if (!update) {
      onClose()
      return
    }
    const saved = await runner.run({
      type: 'UPDATE_NODE',
      payload: { id: against.id, ...update },
      expectedVersion: against.version,
    })
    if (saved?.node) onDone(saved.node)
  }

  return (
    <Dialog
      open
      sticky={runner.busy}
      onClose={onClose}
      title={node ? `Edit ${visible(node.name, 80)}` : 'New node'}
      onSubmit={() => void save(base)}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={runner.busy} disabled={conflict !== null}>
            {node ? 'Save' : 'Create'}
          </Button>
        </>
      }
    >
      <div className="stack">
        <Field label="Name" error={nameMissing ?? fieldError(runner.error, 'payload.name')}>
          <Input
            value={draft.name}
            maxLength={512}
            onChange={(event) => setDraft({ ...draft, name: event.target.value })}
          />
        </Field>
        <Field label="Type" error={fieldError(runner.error, 'payload.entityType')}>
          <Select
            options={ENTITY_TYPES.map((value) => ({ value, label: ENTITY_LABELS[value] }))}
            value={draft.entityType}
            onChange={(event) => setDraft({ ...draft, entityType: event.target.value as EntityType })}
          />
        </Field>
        <Field
          label="Description"
          optional
          hint="Used by search. Whole sentences work best."
          error={fieldError(runner.error, 'payload.description')}
        >
          <Textarea
            rows={4}
            value={draft.description}
            onChange={(event) => setDraft({ ...draft, description: event.target.value })}
          />
        </Field>
        <PropertyRows
          rows={draft.rows}
          errors={checked ? read.errors : new Map()}
          onChange={(rows) => setDraft({ ...draft, rows })}
        />
        {conflict ? (
          <EditConflictNotice
            conflict={conflict}
            onRebase={(merged, current) => {
              setBase(current as GraphNode)
              setDraft(draftOf(merged))
              runner.reset()
            }}
            onDiscard={(current) => {
              setBase(current as GraphNode)
              setDraft(draftOf(current))
              runner.reset()
            }}
          />
        ) : (
          runner.failure && <FailureNotice failure={runner.failure} />
        )}
      </div>
    </Dialog>
  )
}
