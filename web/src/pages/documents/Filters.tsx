import { Button, DebouncedSearch, Field, fieldError, Segmented } from '@/ui'

import { TimeField } from '../sources/TimeField'
import { isFiltered, NO_FILTER, type DocumentFilter } from './address'
import { TagInput } from './TagInput'

const MATCHES = [
  { value: 'any', label: 'Any', title: 'Documents with at least one of the tags' },
  { value: 'all', label: 'All', title: 'Documents with each of the tags' },
] as const

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
