import { Button, DebouncedSearch, Field, fieldError, Segmented, Select } from '@/ui'

import { TimeField } from '../sources/TimeField'
import { isFiltered, NO_FILTER, SORTS, type DocumentFilter, type Sort } from './address'
import { TagInput } from './TagInput'

const MATCHES = [
  { value: 'any', label: 'Any', title: 'Documents with at least one of the tags' },
  { value: 'all', label: 'All', title: 'Documents with each of the tags' },
] as const

const SORT_LABELS: Record<Sort, string> = {
  created: 'Oldest first',
  newest: 'Last changed first',
  timestamp: 'Newest timestamp first',
}
const SORT_OPTIONS = SORTS.map((value) => ({ value, label: SORT_LABELS[value] }))

/** The order of the list. */
export function Order({ sort, onSort }: { sort: Sort; onSort: (sort: Sort) => void }) {
  return (
    <Field label="Order" hideLabel className="documents-sort">
      <Select
        options={SORT_OPTIONS}
        value={sort}
        onChange={({ target }) => onSort(SORTS.find((item) => item === target.value) ?? SORTS[0])}
      />
    </Field>
  )
}

/** The filters of the list. An external id excludes the others. */
export function Filters({
  filter,
  error,
  onChange,
}: {
  filter: DocumentFilter
  error: unknown
  onChange: (change: Partial<DocumentFilter>) => void
}) {
  return (
    <div className="documents-filters">
      <DebouncedSearch
        label="Exact external id"
        value={filter.externalId}
        onChange={(externalId) => onChange({ externalId })}
      />
      <div className="documents-match">
        <Field
          label="Tags"
          hideLabel
          className="documents-tagfield"
          error={fieldError(error, 'tag', 'allTag')}
        >
          <TagInput value={filter.tags} placeholder="Tags" onChange={(tags) => onChange({ tags })} />
        </Field>
        <Segmented
          label="Tags to match"
          value={filter.match}
          onChange={(match) => onChange({ match })}
          options={MATCHES}
        />
      </div>
      <div className="documents-times">
        <TimeField
          className="documents-time"
          label="Dated from"
          value={filter.from}
          error={fieldError(error, 'timestampFrom')}
          onChange={(from) => onChange({ from })}
        />
        <TimeField
          className="documents-time"
          label="before"
          value={filter.to}
          error={fieldError(error, 'timestampTo')}
          onChange={(to) => onChange({ to })}
        />
      </div>
      {isFiltered(filter) && (
        <Button size="s" variant="ghost" onClick={() => onChange(NO_FILTER)}>
          Clear
        </Button>
      )}
    </div>
  )
}
