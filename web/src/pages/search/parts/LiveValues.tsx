import { compact, Time, visible } from '@/ui'

import type { LiveValue } from '../types'

const MAX_VALUES = 8

/** The latest values of the series of a node. */
export function LiveValues({ values }: { values: readonly LiveValue[] }) {
  return (
    <div className="search-live">
      <p className="field-label">Live</p>
      <ul>
        {values.slice(0, MAX_VALUES).map((item, i) => (
          <li key={i}>
            <span className="muted">
              {visible([item.sourceName, item.metric, ...Object.values(item.tags)].join(' · '), 120)}
            </span>{' '}
            <b>{typeof item.value === 'number' ? compact(item.value) : visible(item.value, 60)}</b>
            {item.unit && ` ${visible(item.unit, 16)}`} <Time at={item.timestamp} />
          </li>
        ))}
        {values.length > MAX_VALUES && <li className="muted">and {values.length - MAX_VALUES} more</li>}
      </ul>
    </div>
  )
}
