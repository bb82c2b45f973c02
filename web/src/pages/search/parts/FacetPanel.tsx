// The counts of values of the results. A value is a filter.

import { Check } from 'lucide-react'

import { Button, cx, num, plural, visible } from '@/ui'

import { FACET_LABELS, isFiltered, isSelected, toggle, valueLabel, withoutFilter } from '../facets'
import type { Form } from '../form'
import { FACETS, type Facet, type FacetName, type Facets } from '../types'

interface FacetPanelProps {
  facets: Facets
  form: Form
  /** Sends a form with other filters. */
  onFilter: (form: Form) => void
}

export function FacetPanel({ facets, form, onFilter }: FacetPanelProps) {
  return (
    <section className="panel search-facets" aria-label="Facets">
      {FACETS.map((name) => {
        const facet = facets[name]
        return facet && <Group key={name} name={name} facet={facet} form={form} onFilter={onFilter} />
      })}
    </section>
  )
}

interface GroupProps extends Omit<FacetPanelProps, 'facets'> {
  name: FacetName
  facet: Facet
}

function Group({ name, facet, form, onFilter }: GroupProps) {
  const most = Math.max(1, ...facet.values.map((item) => item.count))
  return (
    <div className="search-facet">
      <header>
        <h3>
          {FACET_LABELS[name]}
          {facet.interval && <span className="muted"> by {facet.interval}</span>}
        </h3>
        {isFiltered(form, name) && (
          <Button
            size="s"
            variant="ghost"
            aria-label={`Remove the filter: ${FACET_LABELS[name]}`}
            onClick={() => onFilter(withoutFilter(form, name))}
          >
            All
          </Button>
        )}
      </header>
      <ul className="search-facet-values">
        {facet.values.map(({ value, count }) => {
          const selected = isSelected(form, name, value)
          return (
            <li key={value}>
              <button
                type="button"
                className={cx('search-facet-value', selected && 'search-facet-selected')}
                aria-pressed={selected}
                title={visible(value, 128)}
                onClick={() => onFilter(toggle(form, name, value))}
              >
                <span
                  className="search-facet-share"
                  style={{ width: `${(100 * count) / most}%` }}
                  aria-hidden="true"
                />
                {selected && <Check size={12} aria-hidden="true" />}
                <bdi dir="auto">{visible(valueLabel(name, value), 60)}</bdi>
                <span className="search-facet-count">
                  {num(count)} <span className="sr-only">{count === 1 ? 'result' : 'results'}</span>
                </span>
              </button>
            </li>
          )
        })}
      </ul>
      <FacetNote facet={facet} />
    </div>
  )
}

function FacetNote({ facet: { values, other, missing } }: { facet: Facet }) {
  const notes = [
    other > 0 && `${num(other)} in other values`,
    missing > 0 && `${plural(missing, 'result')} without`,
    values.length === 0 && missing === 0 && 'no results',
  ].filter((note) => note !== false)
  return notes.length > 0 && <p className="search-note">{notes.join(', ')}</p>
}
