// The form to create or edit a file of rules.

import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { Button, Confirm, Dialog, ErrorNotice, Field, Input, Notice, plural, useToast, visible } from '@/ui'

import { filesKey, type RuleProblem } from './data'
import { FileConflict } from './FileConflict'
import { EXAMPLE, moveProblems, nameError, problemsOf, sizeError, unixLines } from './ruleText'
import { RuleTextField } from './RuleTextField'
import { checkFile, saveFile, type StoredFile } from './writes'

interface RuleEditorProps {
  workspace: string
  /** The file to edit; null to create one. */
  file: StoredFile | null
  onClose: () => void
}

export function RuleEditor({ workspace, file, onClose }: RuleEditorProps) {
  const form = useRuleForm(workspace, file, onClose)
  const [leaving, setLeaving] = useState(false)
  const close = () => (form.dirty ? setLeaving(true) : onClose())
  const { checked, conflict, error } = form
  return (
    <Dialog
      open
      size="l"
      onClose={close}
      title={file ? `Edit ${file.name}` : 'New file of rules'}
      lead={file ? undefined : 'Recording rules compute series, and alerting rules report what they select.'}
      onSubmit={form.save}
      footer={
        <>
          <Button onClick={close}>Cancel</Button>
          <Button onClick={form.check} busy={form.checking}>
            Check
          </Button>
          <Button type="submit" variant="primary" busy={form.saving} disabled={Boolean(conflict)}>
            {file ? 'Save' : 'Create file'}
          </Button>
        </>
      }
    >
      <div className="stack">
        {conflict && (
          <FileConflict
            base={conflict.base}
            theirs={conflict.theirs}
            onOverwrite={form.rebase}
            onDiscard={(theirs) => (theirs ? form.replace(theirs) : onClose())}
          />
        )}
        {!file && (
          <Field
            label="Name"
            hint="Letters, digits, dots, hyphens and underscores, such as machines."
            error={form.nameError}
          >
            <Input value={form.name} onChange={(e) => form.setName(e.target.value)} spellCheck={false} />
          </Field>
        )}
        <RuleTextField
          text={form.text}
          onChange={form.setText}
          problems={form.problems}
          refusals={form.refusals}
        />
        <div role="status" className="alerts-checked">
          {checked && (
            <Notice tone="ok" title="No errors">
              <p>
                {plural(checked.groups, 'group')}, {plural(checked.rules, 'rule')}. Nothing is saved yet.
              </p>
            </Notice>
          )}
        </div>
        {Boolean(error) && <ErrorNotice error={error} compact />}
      </div>
      <Confirm
        open={leaving}
        onClose={() => setLeaving(false)}
        title="Discard your changes?"
        action="Discard changes"
        danger
        onConfirm={onClose}
      >
        <p>The text is not saved.</p>
      </Confirm>
    </Dialog>
  )
}

interface Conflict {
  base: StoredFile
  /** Null: the file was deleted. */
  theirs: StoredFile | null
}

/** The name under which the text of a new file is checked before it has one. */
const UNNAMED = 'unnamed'

/** Returns the state of the form and its actions. */
function useRuleForm(workspace: string, file: StoredFile | null, onSaved: () => void) {
  const queries = useQueryClient()
  const toast = useToast()
  const [name, setName] = useState(file?.name ?? '')
  const [refusedName, setRefusedName] = useState<string>()
  const [text, setText] = useState(file ? unixLines(file.content) : EXAMPLE)
  // The file that the text is based on; null if there must be none.
  const [base, setBase] = useState(file)
  const [conflict, setConflict] = useState<Conflict | null>(null)
  const [problems, setProblems] = useState<readonly RuleProblem[]>([])
  const [refusals, setRefusals] = useState(0)

  const refuse = (found: readonly RuleProblem[]) => {
    setProblems(found)
    setRefusals((n) => n + 1)
  }
  const onError = (error: unknown) => refuse(problemsOf(error))
  const check = useMutation({
    mutationFn: () => checkFile(workspace, nameError(name) ? UNNAMED : name, text),
    onSuccess: () => setProblems([]),
    onError,
  })
  const save = useMutation({
    mutationFn: () => saveFile(workspace, name, text, base),
    onSuccess: async (outcome) => {
      setProblems([])
      if (outcome.saved) {
        toast.ok(file ? 'File saved' : 'File created', visible(name, 100))
        onSaved()
      } else if (base) setConflict({ base, theirs: outcome.theirs })
      else if (file) setConflict({ base: file, theirs: outcome.theirs })
      else setRefusedName('There is already a file of this name.')
      await queries.invalidateQueries({ queryKey: filesKey(workspace) })
    },
    onError,
  })
  const dirty = base ? text !== unixLines(base.content) : text !== EXAMPLE || name !== ''
  const send = (request: typeof check | typeof save) => {
    const tooLong = sizeError(text)
    if (check.isPending || save.isPending) return
    check.reset()
    save.reset()
    if (tooLong) refuse([tooLong])
    else request.mutate()
  }
  return {
    name,
    setName: (next: string) => {
      setName(next)
      setRefusedName(undefined)
    },
    nameError: refusedName,
    text,
    setText: (next: string) => {
      setProblems(moveProblems(problems, text, next))
      check.reset()
      setText(next)
    },
    problems,
    refusals,
    dirty,
    conflict,
    checked: check.data,
    checking: check.isPending,
    saving: save.isPending,
    /** An error that is not about the text. */
    error: [save.error, check.error].find((error) => error && problemsOf(error).length === 0),
    check: () => send(check),
    save: () => {
      if (conflict) return
      const refused = nameError(name)
      setRefusedName(refused)
      if (refused) return
      if (base && !dirty) onSaved()
      else send(save)
    },
    /** Keeps the text. The next save replaces `theirs`. */
    rebase: (theirs: StoredFile | null) => {
      setBase(theirs)
      setConflict(null)
    },
    /** Replaces the text by that of `theirs`. */
    replace: (theirs: StoredFile) => {
      setBase(theirs)
      setText(unixLines(theirs.content))
      setProblems([])
      setConflict(null)
    },
  }
}
