// The search form.

import { Search } from 'lucide-react'
import { useState } from 'react'

import { Button, Checkbox, Field, Input, Panel, Segmented, Select, Textarea } from '@/ui'

import { ENTITY_TYPES, type Direction } from '../../graph/model/types'
import { ENTITY_LABELS } from '../../graph/model/descriptions'
import { TypeIcon } from '../../graph/parts/TypeIcon'
import { DIRECTION_LABELS } from '../explain'
import { checkForm, LIMITS, type Form, type Mode } from '../form'
import { LANES, type Lane } from '../types'

export interface FormPanelProps {
  form: Form
  onChange: (form: Form) => void
  onSend: () => void
  busy: boolean
}

/** Window widths at which the results are next to the form, as in search.css. */
export const BESIDE = '(min-width: 961px)'

const WEIGHT_LABELS: Record<Lane, string> = { text: 'Words', vector: 'Meaning', graph: 'Graph' }

export function FormPanel({ form, onChange, onSend, busy }: FormPanelProps) {
  const [checked, setChecked] = useState(false)
  const errors = checkForm(form)
  const shown = checked ? errors : { ...errors, query: undefined }
  const set = (change: Partial<Form>) => onChange({ ...form, ...change })
  const send = () => {
    setChecked(true)
    if (Object.keys(errors).length === 0) onSend()
  }
  return (
    <form
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
            options={[
              { value: 'hybrid', label: 'Hybrid', title: 'Words, meaning and the graph' },
              { value: 'search', label: 'Plain', title: 'Words and meaning' },
            ]}
          />
          <Field label="Query" error={shown.query} hint="Enter searches, Shift+Enter starts a new line.">
            <Textarea
              rows={3}
              value={form.query}
              maxLength={8192}
              onChange={(event) => set({ query: event.target.value })}
              onKeyDown={(event) => {
                if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return
                event.preventDefault()
                send()
              }}
            />
          </Field>
          <Button type="submit" variant="primary" icon={<Search size={16} />} busy={busy}>
            Search
          </Button>
          <details
            className="search-more"
            open={form.properties !== '' || form.entityTypes.length > 0 || form.minScore > 0}
          >
            <summary>Filters</summary>
            <Filters form={form} set={set} error={shown.properties} />
          </details>
          {form.mode === 'hybrid' && <HybridFields form={form} set={set} errors={shown} />}
          <details className="search-more">
            <summary>Response</summary>
            <div className="stack search-flags">
              <Field label="Results per page">
                <Select
                  options={[...new Set([...LIMITS, form.limit])].sort((a, b) => a - b).map(String)}
                  value={String(form.limit)}
                  onChange={(event) => set({ limit: Number(event.target.value) })}
                />
              </Field>
              <Checkbox
                label="The matched text"
                checked={form.includeContent}
                onChange={(e) => set({ includeContent: e.target.checked })}
              />
              {form.mode === 'hybrid' && (
                <>
                  <Checkbox
                    label="Explanation"
                    checked={form.explain}
                    onChange={(e) => set({ explain: e.target.checked })}
                  />
                  <Checkbox
                    label="Edges between results"
                    checked={form.includeEdges}
                    onChange={(e) => set({ includeEdges: e.target.checked })}
                  />
                  <Checkbox
                    label="Latest live values"
                    checked={form.includeLiveData}
                    onChange={(e) => set({ includeLiveData: e.target.checked })}
                  />
                </>
              )}
            </div>
          </details>
        </div>
      </Panel>
    </form>
  )
}

interface PartProps {
  form: Form
  set: (change: Partial<Form>) => void
}

function Filters({ form, set, error }: PartProps & { error: string | undefined }) {
  return (
    <div className="stack">
      <fieldset className="search-types">
        <legend className="field-label">Types; none selected: all</legend>
        {ENTITY_TYPES.map((type) => (
          <Checkbox
            key={type}
            checked={form.entityTypes.includes(type)}
            onChange={(event) =>
              set({
                entityTypes: ENTITY_TYPES.filter((item) =>
                  item === type ? event.target.checked : form.entityTypes.includes(item),
                ),
              })
            }
            label={
              <>
                <TypeIcon type={type} /> {ENTITY_LABELS[type]}
              </>
            }
          />
        ))}
      </fieldset>
      <Field
        label="Properties"
        error={error}
        hint='One on each line: site = north, line = 7, line = "7", floor = [1, 2].'
      >
        <Textarea
          rows={2}
          className="mono"
          value={form.properties}
          spellCheck={false}
          onChange={(event) => set({ properties: event.target.value })}
        />
      </Field>
      <Slider label="Minimum score" value={form.minScore} onChange={(minScore) => set({ minScore })} />
    </div>
  )
}

function HybridFields({ form, set, errors }: PartProps & { errors: ReturnType<typeof checkForm> }) {
  // If the results are below the form, it is collapsed initially.
  const [open] = useState(() => window.matchMedia(BESIDE).matches)
  const { nodeIds, relationTypes, weights } = form
  return (
    <details className="search-more" open={open}>
      <summary>Graph</summary>
      <div className="stack">
        <fieldset className="search-weights">
          <legend className="field-label">Weights</legend>
          {LANES.map((lane) => (
            <Slider
              key={lane}
              label={WEIGHT_LABELS[lane]}
              value={weights[lane]}
              onChange={(value) => set({ weights: { ...weights, [lane]: value } })}
            />
          ))}
          {errors.weights && <p className="field-error">{errors.weights}</p>}
        </fieldset>
        <div className="search-pair">
          <Field label="Hops">
            <Select
              options={['0', '1', '2', '3']}
              value={String(form.hops)}
              onChange={(event) => set({ hops: Number(event.target.value) })}
            />
          </Field>
          <Field label="Direction">
            <Select
              options={Object.entries(DIRECTION_LABELS).map(([value, label]) => ({ value, label }))}
              value={form.direction}
              onChange={(event) => set({ direction: event.target.value as Direction })}
            />
          </Field>
        </div>
        <Field label="Relations" optional hint="Separated by commas; none: all.">
          <ListInput values={relationTypes} onChange={(list) => set({ relationTypes: list })} />
        </Field>
        <Field
          label="Seed nodes"
          optional
          hint="Ids, separated by commas, in addition to the seeds of the query."
          error={errors.nodeIds}
        >
          <ListInput values={nodeIds} onChange={(list) => set({ nodeIds: list })} />
        </Field>
      </div>
    </details>
  )
}

/** A comma-separated list. The text is kept as typed. */
function ListInput({
  values,
  onChange,
}: {
  values: readonly string[]
  onChange: (values: string[]) => void
}) {
  const joined = values.join(', ')
  const [typed, setTyped] = useState({ text: joined, joined })
  const text = typed.joined === joined ? typed.text : joined
  return (
    <Input
      value={text}
      spellCheck={false}
      onChange={(event) => {
        const list = [
          ...new Set(
            event.target.value
              .split(',')
              .map((item) => item.trim())
              .filter(Boolean),
          ),
        ]
        setTyped({ text: event.target.value, joined: list.join(', ') })
        onChange(list)
      }}
    />
  )
}

function Slider({
  label,
  value,
  onChange,
}: {
  label: string
  value: number
  onChange: (value: number) => void
}) {
  return (
    <label className="search-slider">
      <span>{label}</span>
      <input
        type="range"
        min={0}
        max={1}
        step={0.05}
        value={value}
        onChange={(event) => onChange(Number(event.target.value))}
      />
      <output>{value.toFixed(2)}</output>
    </label>
  )
}
