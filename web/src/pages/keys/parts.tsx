import type { Key } from '@/api'
import { Badge, Name } from '@/ui'

/** The query key. Invalidate it after a change of keys. */
export const KEYS = ['keys'] as const

/** The state of a key as a badge. */
export function StateBadge({ k }: { k: Key }) {
  if (k.state === 'revoked') return <Badge tone="bad">revoked</Badge>
  if (k.state === 'expired') return <Badge>expired</Badge>
  if (k.rollDue) return <Badge tone="warn">90 days old</Badge>
  return <Badge tone="ok">active</Badge>
}

/** The names of the workspaces of a key. */
export function KeyWorkspaces({ k }: { k: Key }) {
  const [first] = k.workspaces
  if (!first) return <span className="muted">none</span>
  return (
    <span className="keys-opens">
      {first.name === null ? <span className="muted">deleted</span> : <Name text={first.name} max={80} />}
      {k.workspaces.length > 1 && <span className="muted nowrap">+{k.workspaces.length - 1}</span>}
    </span>
  )
}
