// The counted values of facets, and the filters that select them.

import { ENTITY_LABELS } from '../graph/model/descriptions'
import { ENTITY_TYPES } from '../graph/model/types'
import type { Form } from './form'
import { rangeOf, sameTime } from './times'
import type { FacetName } from './types'

export const FACET_LABELS: Record<FacetName, string> = {
  entityType: 'Type',
  tags: 'Tag',
  timestamp: 'Time',
}

/** Returns a value of a facet for display. */
export function valueLabel(facet: FacetName, value: string): string {
  const type = facet === 'entityType' && ENTITY_TYPES.find((item) => item === value)
  return type ? ENTITY_LABELS[type] : value
}

/** Reports whether the filter of a form selects exactly a value of a facet. */
export function isSelected(form: Form, facet: FacetName, value: string): boolean {
  switch (facet) {
    case 'entityType':
      return form.entityTypes.length === 1 && form.entityTypes[0] === value
    case 'tags':
      return form.allTags.includes(value)
    case 'timestamp': {
      const range = rangeOf(value)
      return range !== undefined && isEqual(form.from, range.from) && isEqual(form.to, range.to)
    }
  }
}

const isEqual = (a: string, b: string) => a === b || sameTime(a, b)

/**
 * Returns a form that also selects a value of a facet, or no longer if it does already. The results with the value are
 * those that were counted: a tag is added to those that a document must have.
 */
export function toggle(form: Form, facet: FacetName, value: string): Form {
  const selected = isSelected(form, facet, value)
  switch (facet) {
    case 'entityType':
      return { ...form, entityTypes: selected ? [] : ENTITY_TYPES.filter((type) => type === value) }
    case 'tags':
      return {
        ...form,
        allTags: selected ? form.allTags.filter((tag) => tag !== value) : [...form.allTags, value],
      }
    case 'timestamp': {
      const range = rangeOf(value)
      return { ...form, ...(selected || !range ? { from: '', to: '' } : range) }
    }
  }
}

/** Reports whether a form has a filter of the field of a facet. */
export const isFiltered = (form: Form, facet: FacetName) =>
  ({
    entityType: form.entityTypes.length > 0,
    tags: form.tags.length + form.allTags.length > 0,
    timestamp: form.from !== '' || form.to !== '',
  })[facet]

/** Returns a form without the filters of the field of a facet. */
export const withoutFilter = (form: Form, facet: FacetName): Form => ({
  ...form,
  ...{ entityType: { entityTypes: [] }, tags: { tags: [], allTags: [] }, timestamp: { from: '', to: '' } }[
    facet
  ],
})
