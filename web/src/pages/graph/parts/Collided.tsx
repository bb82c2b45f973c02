// Two edited the same thing at once: what the other changed, and the two ways on.

import { useQuery } from '@tanstack/react-query'

import { Button, ErrorNotice, Notice, Skeleton, visible } from '@/ui'

import type { Failure } from '../model/failures'
import { collide, rebase, valueText, type Collision, type Difference, type Editable } from '../model/patch'
import type { GraphEdge, GraphNode } from '../model/types'
import { useShared } from './context'

type Resource = GraphNode | GraphEdge

export interface Colliding {
  base: Resource
  mine: Editable
}

/** The collision of an edit that was refused because of its version; null: there is none. */
export function useCollision(
  base: Resource | null,
  mine: Editable,
  failure: Failure | null,
): Colliding | null {
  return base && failure?.remedy === 'reload' && failure.title === VERSION ? { base, mine } : null
}

/** As explainFailure calls it. */
const VERSION = 'Somebody else changed it'

export interface CollidedProps {
  collision: Colliding
  /** My edits on top of theirs. */
  onRebase: (merged: Editable, current: Resource) => void
  onDiscard: (current: Resource) => void
}

export function Collided({ collision: { base, mine }, onRebase, onDiscard }: CollidedProps) {
  const { workspace, source } = useShared()
  const current = useQuery({
    queryKey: ['graph', workspace, 'current', base.id, base.version],
    queryFn: ({ signal }): Promise<Resource> =>
      'relationType' in base ? source.edge(base.id, signal) : source.node(base.id, signal),
    staleTime: 0,
    gcTime: 0,
  })
  if (current.error)
    return <ErrorNotice error={current.error} compact onRetry={() => void current.refetch()} />
  if (!current.data) return <Skeleton lines={3} />
  const theirs = current.data
  const found = collide(base, mine, theirs)
  return (
    <Notice tone="warn" title={`Somebody else changed it from version ${base.version} to ${theirs.version}`}>
      <p>Your changes are not saved yet. Changes since you opened it:</p>
      <Changes collision={found} />
      <div className="row graph-failure-actions">
        <Button size="s" variant="primary" onClick={() => onRebase(rebase(base, mine, theirs), theirs)}>
          {found.overlapping.length > 0 ? 'Overwrite their changes' : 'Apply my changes'}
        </Button>
        <Button size="s" onClick={() => onDiscard(theirs)}>
          Discard my changes
        </Button>
      </div>
      <p className="muted">Review, then save.</p>
    </Notice>
  )
}

const MOST = 12

function Changes({ collision }: { collision: Collision }) {
  if (collision.theirs.length === 0) return <p>It was changed and reverted.</p>
  return <DifferenceList differences={collision.theirs} marked={collision.overlapping} />
}

/** What was changed from what to what. */
export function DifferenceList({
  differences,
  marked = [],
}: {
  differences: readonly Difference[]
  marked?: readonly string[]
}) {
  return (
    <ul className="graph-changes">
      {differences.slice(0, MOST).map(({ field, before, after }) => (
        <li key={field}>
          <b>{visible(field, 80)}</b>: <del>{visible(valueText(before), 120)}</del> →{' '}
          <ins>{visible(valueText(after), 120)}</ins>
          {marked.includes(field) && <span className="tone-warn"> — you changed it too</span>}
        </li>
      ))}
      {differences.length > MOST && <li>and {differences.length - MOST} more</li>}
    </ul>
  )
}
