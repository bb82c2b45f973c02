// The filters of the search form.

import { Checkbox, Field, Group, Input, Textarea } from '@/ui'

import { ENTITY_LABELS } from '../../graph/model/descriptions'
import { ENTITY_TYPES } from '../../graph/model/types'
import { TypeIcon } from '../../graph/parts/TypeIcon'
import type { Form, FormErrors } from '../form'
import { ListInput, Slider } from './inputs'

export interface FieldsProps {
  form: Form
  set: (change: Partial<Form>) => void
  errors: FormErrors
}

export function FilterFields({ form, set, errors }: FieldsProps) {
  return (
    <>
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
        error={errors.properties}
        hint={
          <>
            One condition on each line: <code>site = north</code>, <code>floor = [1, 2]</code>,{' '}
            <code>kW &gt;= 5</code>, <code>kW &lt;= 9</code>, <code>line ^= A-</code>
          </>
        }
      >
        <Textarea
          rows={2}
          className="mono"
          value={form.properties}
          spellCheck={false}
          onChange={(event) => set({ properties: event.target.value })}
        />
      </Field>
      <DocumentFields form={form} set={set} errors={errors} />
      <Slider label="Min. score" value={form.minScore} onChange={(minScore) => set({ minScore })} />
    </>
  )
}

/** The filters by documents. */
function DocumentFields({ form, set, errors }: FieldsProps) {
  return (
    <Group label="Documents" hint="Only nodes of documents with these tags and times (UTC).">
      <Field label="Any of these tags" error={errors.tags}>
        <ListInput values={form.tags} onChange={(tags) => set({ tags })} />
      </Field>
      <Field label="All of these tags" error={errors.allTags}>
        <ListInput values={form.allTags} onChange={(allTags) => set({ allTags })} />
      </Field>
      <div className="search-range">
        <Field label="Timestamp from" error={errors.from}>
          <Input
            value={form.from}
            placeholder="2026-01"
            spellCheck={false}
            onChange={(event) => set({ from: event.target.value.trim() })}
          />
        </Field>
        <Field label="and before" error={errors.to}>
          <Input
            value={form.to}
            placeholder="2027-01"
            spellCheck={false}
            onChange={(event) => set({ to: event.target.value.trim() })}
          />
        </Field>
      </div>
    </Group>
  )
}
