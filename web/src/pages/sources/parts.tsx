import { Badge, Name, visible } from '@/ui'

import type { SourceStatus, Tags } from './shapes'

const TONES = { active: 'ok', stale: 'warn', never: 'neutral' } as const

const TITLES: Record<SourceStatus, string> = {
  active: 'Points arrive as expected',
  stale: 'No points for three intervals (five minutes without an interval)',
  never: 'No points yet',
}

/** The status of a source; null while ClickHouse is unavailable. */
export function StatusBadge({ status }: { status: SourceStatus | null }) {
  if (!status) {
    return (
      <span title="ClickHouse is unavailable">
        <Badge>unknown</Badge>
      </span>
    )
  }
  return (
    <span title={TITLES[status]}>
      <Badge tone={TONES[status]} dot>
        {status}
      </Badge>
    </span>
  )
}

/** The first tags and the number of further ones. */
export function TagList({ tags, max = 3 }: { tags: Tags; max?: number }) {
  const entries = Object.entries(tags)
  if (entries.length === 0) return <span className="muted">–</span>
  const rest = entries.slice(max)
  return (
    <span className="sources-tags">
      {entries.slice(0, max).map(([key, value]) => (
        <span key={key} className="sources-tag">
          <Name text={`${key}=${value}`} max={80} />
        </span>
      ))}
      {rest.length > 0 && (
        <span
          className="muted nowrap"
          title={visible(rest.map(([key, value]) => `${key}=${value}`).join(', '), 300)}
        >
          +{rest.length}
        </span>
      )}
    </span>
  )
}
