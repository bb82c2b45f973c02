import { CopyButton, visible } from '@/ui'

import { valueText } from '../model/patch'
import type { Properties } from '../model/types'

/** A table of properties. Names and values are user content. */
export function PropertyTable({ properties }: { properties: Properties }) {
  const entries = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1))
  if (entries.length === 0) return <p className="muted">No properties.</p>
  return (
    <dl className="graph-properties">
      {entries.map(([key, value]) => {
        const text = valueText(value)
        return (
          <div key={key}>
            <dt>
              <bdi>{visible(key, 120)}</bdi>
            </dt>
            <dd>
              <bdi className={typeof value === 'string' ? undefined : 'mono'}>{visible(text, 600)}</bdi>
              {text.length > 40 && <CopyButton text={text} label={`Copy ${visible(key, 60)}`} />}
            </dd>
          </div>
        )
      })}
    </dl>
  )
}
