import type { Key } from '@/api'
import { Badge, Name } from '@/ui'

/** Of react-query, for who changes keys: invalidate it. */
export const KEYS = ['keys'] as const

/** What a key's state is called, and how it looks. */
export function StateBadge({ k }: { k: Key }) {
  if (k.state === 'revoked') return <Badge tone="bad">revoked</Badge>
  if (k.state === 'expired') return <Badge>expired</Badge>
  if (k.rollDue) return <Badge tone="warn">90 days old</Badge>
  return <Badge tone="ok">active</Badge>
}

/** The names of the workspaces that a key opens. */
export function Opens({ k }: { k: Key }) {
  const [first] = k.workspaces
  if (!first) return <span className="muted">none</span>
  return (
    <span className="keys-opens">
      {first.name === null ? <span className="muted">deleted</span> : <Name text={first.name} max={80} />}
      {k.workspaces.length > 1 && <span className="muted nowrap">+{k.workspaces.length - 1}</span>}
    </span>
  )
}
