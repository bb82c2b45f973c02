import { Badge, Name, visible } from '@/ui'

import type { SourceStatus, Tags } from './shapes'

const TONES = { active: 'ok', stale: 'warn', never: 'neutral' } as const

const TITLES: Record<SourceStatus, string> = {
  active: 'Points arrive as expected',
  stale: 'No points for three intervals (five minutes without an interval)',
  never: 'No points yet',
}

/** Whether points come; null: the store of points cannot say just now. */
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

/** The first tags, and how many more there are. */
export function TagList({ tags, most = 3 }: { tags: Tags; most?: number }) {
  const entries = Object.entries(tags)
  if (entries.length === 0) return <span className="muted">–</span>
  const rest = entries.slice(most)
  return (
    <span className="sources-tags">
      {entries.slice(0, most).map(([key, value]) => (
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
