// The search form.

import { MessageSquareQuote, Search } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'

import { Button, Field, Panel, Segmented, Select, Textarea } from '@/ui'

import { checkForm, filterCount, MAX, usesGraph, type Form, type Mode } from '../form'
import { DocumentChips } from './DocumentChips'
import { FilterFields, type FieldsProps } from './FilterFields'
import { GraphFields } from './GraphFields'
import { Disclosure } from './inputs'
import { MoreFields, ResponseFields } from './ResponseFields'

export interface FormPanelProps {
  form: Form
  onChange: (form: Form) => void
  onSend: () => void
  busy: boolean
}

/** Window widths at which the results are next to the form, as in search.css. */
export const BESIDE = '(min-width: 961px)'

const MODES: readonly { value: Mode; label: string; title: string }[] = [
  { value: 'hybrid', label: 'Hybrid', title: 'Results by words, meaning and the graph' },
  { value: 'search', label: 'Plain', title: 'Results by words and meaning' },
  { value: 'answer', label: 'Answer', title: 'Sentences that answer a question, with their sources' },
]

export function FormPanel({ form, onChange, onSend, busy }: FormPanelProps) {
  const element = useRef<HTMLFormElement>(null)
  const [refusals, setRefusals] = useState(0)
  // If the results are below the form, the graph is collapsed initially.
  const [wide] = useState(() => window.matchMedia(BESIDE).matches)
  const errors = checkForm(form)
  const shown = refusals > 0 ? errors : { ...errors, query: undefined }
  const set = (change: Partial<Form>) => onChange({ ...form, ...change })
  const send = () => {
    if (Object.keys(errors).length === 0) onSend()
    else setRefusals(refusals + 1)
  }
  useEffect(() => {
    if (refusals > 0) showFirstError(element.current)
  }, [refusals])
  const filters = filterCount(form)
  const fields: FieldsProps = { form, set, errors: shown }
  return (
    <form
      ref={element}
      className="search-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        send()
      }}
    >
      <Panel>
        <div className="stack">
          <Segmented<Mode>
            label="Which search"
            value={form.mode}
            onChange={(mode) => set({ mode })}
            options={MODES}
          />
          <QueryField {...fields} send={send} />
          {form.documents.length > 0 && (
            <DocumentChips
              ids={form.documents}
              error={errors.documents}
              onChange={(documents) => set({ documents })}
            />
          )}
          {form.mode === 'answer' && <AnswerFields {...fields} />}
          <Button
            type="submit"
            variant="primary"
            icon={form.mode === 'answer' ? <MessageSquareQuote size={16} /> : <Search size={16} />}
            busy={busy}
          >
            {form.mode === 'answer' ? 'Answer' : 'Search'}
          </Button>
          <div className="search-parts">
            <Disclosure title="Filters" count={filters} open={filters > 0}>
              <FilterFields {...fields} />
            </Disclosure>
            {usesGraph(form.mode) && (
              <Disclosure title="Graph" open={wide && form.mode === 'hybrid'}>
                <GraphFields {...fields} />
              </Disclosure>
            )}
            <Disclosure title="Response" open={false}>
              <ResponseFields {...fields} />
            </Disclosure>
            <Disclosure title="More options" count={moreCount(form)} open={false}>
              <MoreFields {...fields} />
            </Disclosure>
          </div>
        </div>
      </Panel>
    </form>
  )
}

const moreCount = ({ mode, rerank, facets }: Form) =>
  Number(rerank) + (mode === 'answer' ? 0 : Number(facets.length > 0))

/** Moves the focus to the first field with an error, and opens the part of the form that contains it. */
function showFirstError(form: HTMLFormElement | null): void {
  const found = form?.querySelector<HTMLElement>('[aria-invalid="true"], .field-error')
  const closed = found?.closest('details')
  if (closed) closed.open = true
  if (found?.matches('.field-error')) found.scrollIntoView({ block: 'nearest' })
  else found?.focus()
}

function QueryField({ form, set, errors, send }: FieldsProps & { send: () => void }) {
  return (
    <Field
      label={form.mode === 'answer' ? 'Question' : 'Query'}
      error={errors.query}
      hint="Enter sends it, Shift+Enter starts a new line."
    >
      <Textarea
        rows={3}
        value={form.query}
        maxLength={MAX.query}
        onChange={(event) => set({ query: event.target.value })}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
          event.preventDefault()
          send()
        }}
      />
    </Field>
  )
}

const SENTENCES = Array.from({ length: MAX.sentences }, (_, i) => String(i + 1))

/** How an answer is written. */
function AnswerFields({ form, set }: FieldsProps) {
  return (
    <div className="search-answer-fields">
      <Field label="Text">
        <Select
          options={[
            { value: 'extract', label: 'Quoted sentences' },
            { value: 'generate', label: 'By a chat model' },
          ]}
          value={form.generate ? 'generate' : 'extract'}
          onChange={(event) => set({ generate: event.target.value === 'generate' })}
        />
      </Field>
      <Field label="Sentences">
        <Select
          options={SENTENCES}
          value={String(form.maxSentences)}
          onChange={(event) => set({ maxSentences: Number(event.target.value) })}
        />
      </Field>
    </div>
  )
}
