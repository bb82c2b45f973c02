import type { Key } from '@/api'
import { useWorkspaces } from '@/app/workspace'
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
export function Opens({ ids }: { ids: readonly string[] }) {
  const { workspaces } = useWorkspaces()
  const [first] = ids
  if (!first) return <span className="muted">none</span>
  const known = workspaces.find((w) => w.id === first)
  return (
    <span className="keys-opens">
      {known ? <Name text={known.name} max={80} /> : <code>{first.slice(0, 8)}</code>}
      {ids.length > 1 && <span className="muted nowrap">+{ids.length - 1}</span>}
    </span>
  )
}
