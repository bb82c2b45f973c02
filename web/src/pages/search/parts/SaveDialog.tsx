// The dialogs that save the form as a query, and that rename a saved query.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { ApiError } from '@/api'
import {
  Button,
  Dialog,
  ErrorNotice,
  Field,
  fieldError,
  Input,
  Notice,
  Textarea,
  Time,
  useToast,
  visible,
} from '@/ui'

import { checkForm, type Form } from '../form'
import {
  create,
  findByName,
  isTaken,
  labelErrors,
  relabel,
  replace,
  savedKey,
  type Label,
} from '../savedQueries'
import type { SavedQuery } from '../types'

interface SaveDialogProps {
  workspace: string
  form: Form
  /** The query that is replaced if its name is kept. */
  replaced: SavedQuery | null
  onClose: () => void
  onSaved: (saved: SavedQuery) => void
}

/** The number of characters of a query that are proposed as a name. */
const PROPOSED = 60

export function SaveDialog({ workspace, form, replaced, onClose, onSaved }: SaveDialogProps) {
  const [label, setLabel] = useState<Label>({
    name: replaced?.name ?? form.query.replace(/\s+/g, ' ').trim().slice(0, PROPOSED),
    description: replaced?.description ?? '',
  })
  const { save, target } = useSave(workspace, form, label, replaced, onSaved)
  const [refused, setRefused] = useState(false)
  const problems = Object.values(checkForm(form))
  const errors = labelErrors(label)
  const submit = () => {
    setRefused(true)
    if (problems.length === 0 && Object.keys(errors).length === 0 && !save.isPending) save.mutate()
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={target ? 'Replace a saved query' : 'Save the form'}
      lead="All operators find it under “Saved queries”, and programs can run it by its id."
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={save.isPending} disabled={problems.length > 0}>
            {target ? 'Replace' : 'Save'}
          </Button>
        </>
      }
    >
      <div className="stack">
        {problems.length > 0 && (
          <Notice tone="warn" title="The form cannot be sent as it is">
            {problems.map((problem) => (
              <p key={problem}>{problem}</p>
            ))}
          </Notice>
        )}
        <LabelFields label={label} onChange={setLabel} errors={refused ? errors : {}} error={save.error} />
        {target && (
          <Notice tone="info" title="A query with this name exists">
            <p>
              It was changed <Time at={target.updatedAt} />. Its request is replaced by that of the form.
            </p>
          </Notice>
        )}
        {save.error && !isAboutLabel(save.error) && <ErrorNotice error={save.error} compact />}
      </div>
    </Dialog>
  )
}

/** Returns the mutation that saves the form, and the query that it would replace. */
function useSave(
  workspace: string,
  form: Form,
  typed: Label,
  replaced: SavedQuery | null,
  onSaved: (saved: SavedQuery) => void,
) {
  const queries = useQueryClient()
  const toast = useToast()
  // The stored query that has the name, as far as it is known.
  const [existing, setExisting] = useState(replaced)
  const label = { ...typed, name: typed.name.trim() }
  const target = existing?.name === label.name ? existing : null
  const save = useMutation({
    mutationFn: async () =>
      target ? { saved: await replace(workspace, target, label, form) } : create(workspace, label, form),
    onSuccess: async (outcome) => {
      if ('taken' in outcome) {
        setExisting(outcome.taken)
        return
      }
      toast.ok(target ? 'Query replaced' : 'Query saved', visible(label.name, 100))
      onSaved(outcome.saved)
      await queries.invalidateQueries({ queryKey: savedKey(workspace) })
    },
    // Somebody else has changed or deleted it. The next attempt is about its current state.
    onError: async (error) => {
      if (error instanceof ApiError && (error.status === 404 || error.status === 409)) {
        setExisting(await findByName(workspace, label.name).catch(() => existing))
        await queries.invalidateQueries({ queryKey: savedKey(workspace) })
      }
    },
  })
  return { save, target }
}

interface RenameDialogProps {
  workspace: string
  saved: SavedQuery
  onClose: () => void
}

export function RenameDialog({ workspace, saved, onClose }: RenameDialogProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const [label, setLabel] = useState<Label>({ name: saved.name, description: saved.description })
  const [refused, setRefused] = useState(false)
  const errors = labelErrors(label)
  const rename = useMutation({
    mutationFn: () => relabel(workspace, saved, { ...label, name: label.name.trim() }),
    onSuccess: async () => {
      toast.ok('Query renamed', visible(label.name, 100))
      onClose()
      await queries.invalidateQueries({ queryKey: savedKey(workspace) })
    },
  })
  const submit = () => {
    setRefused(true)
    if (Object.keys(errors).length === 0 && !rename.isPending) rename.mutate()
  }
  return (
    <Dialog
      open
      size="s"
      onClose={onClose}
      title="Rename this query"
      onSubmit={submit}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant="primary" busy={rename.isPending}>
            Rename
          </Button>
        </>
      }
    >
      <div className="stack">
        <LabelFields label={label} onChange={setLabel} errors={refused ? errors : {}} error={rename.error} />
        {rename.error && !isAboutLabel(rename.error) && <ErrorNotice error={rename.error} compact />}
      </div>
    </Dialog>
  )
}

const isAboutLabel = (error: unknown) =>
  isTaken(error) || fieldError(error, 'name', 'description') !== undefined

interface LabelFieldsProps {
  label: Label
  onChange: (label: Label) => void
  errors: Partial<Label>
  /** The error of the server. */
  error: unknown
}

function LabelFields({ label, onChange, errors, error }: LabelFieldsProps) {
  const taken = isTaken(error) ? 'Another saved query has this name.' : undefined
  return (
    <>
      <Field label="Name" error={errors.name ?? taken ?? fieldError(error, 'name')}>
        <Input value={label.name} onChange={(event) => onChange({ ...label, name: event.target.value })} />
      </Field>
      <Field label="Description" optional error={errors.description ?? fieldError(error, 'description')}>
        <Textarea
          rows={2}
          value={label.description}
          onChange={(event) => onChange({ ...label, description: event.target.value })}
        />
      </Field>
    </>
  )
}
