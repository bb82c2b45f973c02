// What a response contains, and the options that are rarely used.

import { Checkbox, Field, Group, Select } from '@/ui'

import { FACET_LABELS } from '../facets'
import { LIMITS, type Form } from '../form'
import { FACETS, INTERVALS, type Interval } from '../types'
import type { FieldsProps } from './FilterFields'
import { numberOptions, Slider } from './inputs'

type Props = Omit<FieldsProps, 'errors'>

/** The fields of a form that are true or false. */
type Flag = { [K in keyof Form]: Form[K] extends boolean ? K : never }[keyof Form]

export function ResponseFields({ form, set }: Props) {
  const flag = (name: Flag, label: string) => (
    <Checkbox
      label={label}
      checked={form[name]}
      onChange={(event) => set({ [name]: event.target.checked })}
    />
  )
  return (
    <>
      <Field label={form.mode === 'answer' ? 'Results to read' : 'Results per page'}>
        <Select
          options={numberOptions(LIMITS, form.limit)}
          value={String(form.limit)}
          onChange={(event) => set({ limit: Number(event.target.value) })}
        />
      </Field>
      <div>
        {form.mode !== 'answer' && (
          <>
            {flag('byDocument', 'One passage of each document')}
            {flag('includeContent', 'The matched text')}
          </>
        )}
        {form.mode === 'hybrid' && (
          <>
            {flag('explain', 'Explanation')}
            {flag('includeEdges', 'Edges between results')}
          </>
        )}
        {form.mode !== 'search' && flag('includeLiveData', 'Latest live values')}
      </div>
    </>
  )
}

/** Reranking and facets. */
export function MoreFields({ form, set }: Props) {
  return (
    <>
      <RerankFields form={form} set={set} />
      {form.mode !== 'answer' && <FacetFields form={form} set={set} />}
    </>
  )
}

const CANDIDATES = [5, 10, 20, 30, 50, 100]

function RerankFields({ form, set }: Props) {
  return (
    <Group label="Reranking">
      <Checkbox
        label="Order the best results by a reranking model"
        hint="If the operator has configured one"
        checked={form.rerank}
        onChange={(event) => set({ rerank: event.target.checked })}
      />
      {form.rerank && (
        <>
          <Field label="Reranked results">
            <Select
              options={numberOptions(CANDIDATES, form.candidates)}
              value={String(form.candidates)}
              onChange={(event) => set({ candidates: Number(event.target.value) })}
            />
          </Field>
          <Slider
            label="Weight"
            value={form.rerankWeight}
            onChange={(rerankWeight) => set({ rerankWeight })}
          />
        </>
      )}
    </Group>
  )
}

const FACET_LIMITS = [5, 10, 20, 50]

const INTERVAL_LABELS: Record<Interval, string> = { day: 'Days', month: 'Months', year: 'Years' }

function FacetFields({ form, set }: Props) {
  const { facets } = form
  return (
    <Group label="Facets: count the values of">
      <div className="search-facet-names">
        {FACETS.map((name) => (
          <Checkbox
            key={name}
            label={FACET_LABELS[name]}
            checked={facets.includes(name)}
            onChange={(event) =>
              set({
                facets: FACETS.filter((item) =>
                  item === name ? event.target.checked : facets.includes(item),
                ),
              })
            }
          />
        ))}
      </div>
      {facets.length > 0 && (
        <div className="search-range">
          <Field label="Values of each">
            <Select
              options={numberOptions(FACET_LIMITS, form.facetLimit)}
              value={String(form.facetLimit)}
              onChange={(event) => set({ facetLimit: Number(event.target.value) })}
            />
          </Field>
          {facets.includes('timestamp') && (
            <Field label="Interval">
              <Select
                options={[
                  { value: '', label: 'Automatic' },
                  ...INTERVALS.map((value) => ({ value, label: INTERVAL_LABELS[value] })),
                ]}
                value={form.facetInterval}
                onChange={(event) => set({ facetInterval: event.target.value as Interval | '' })}
              />
            </Field>
          )}
        </div>
      )}
    </Group>
  )
}
