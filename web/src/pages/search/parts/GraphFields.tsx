// The options of searches that use the graph.

import { Field, Select } from '@/ui'

import type { Direction } from '../../graph/model/types'
import { DIRECTION_LABELS } from '../explain'
import { LANES, type Lane } from '../types'
import type { FieldsProps } from './FilterFields'
import { ListInput, Slider } from './inputs'

const WEIGHT_LABELS: Record<Lane, string> = { text: 'Words', vector: 'Meaning', graph: 'Graph' }

export function GraphFields({ form, set, errors }: FieldsProps) {
  const { nodeIds, relationTypes, weights } = form
  return (
    <>
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
      <Field label="Relations" optional hint="Separated by commas; none: all." error={errors.relationTypes}>
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
    </>
  )
}
