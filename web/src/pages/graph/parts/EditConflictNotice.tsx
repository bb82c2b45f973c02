// A conflict of concurrent edits: the other change and the two options.

import { useQuery } from '@tanstack/react-query'

import { Button, ErrorNotice, Notice, Skeleton, visible } from '@/ui'

import type { Failure } from '../model/failures'
import {
  findEditConflict,
  rebase,
  valueText,
  type EditConflict,
  type Difference,
  type Editable,
} from '../model/patch'
import type { GraphEdge, GraphNode } from '../model/types'
import { useShared } from './context'

type Resource = GraphNode | GraphEdge

export interface ConflictingEdit {
  base: Resource
  mine: Editable
}

/** Returns the conflict of an edit that was refused because of its version; null if there is none. */
export function useEditConflict(
  base: Resource | null,
  mine: Editable,
  failure: Failure | null,
): ConflictingEdit | null {
  return base && failure?.remedy === 'reload' && failure.title === VERSION_CONFLICT_TITLE
    ? { base, mine }
    : null
}

/** The title that explainFailure uses. */
const VERSION_CONFLICT_TITLE = 'Somebody else changed it'

export interface EditConflictProps {
  conflict: ConflictingEdit
  /** Applies my changes to the current state. */
  onRebase: (merged: Editable, current: Resource) => void
  onDiscard: (current: Resource) => void
}

export function EditConflictNotice({ conflict: { base, mine }, onRebase, onDiscard }: EditConflictProps) {
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
  const found = findEditConflict(base, mine, theirs)
  return (
    <Notice tone="warn" title={`Somebody else changed it from version ${base.version} to ${theirs.version}`}>
      <p>Your changes are not saved yet. Changes since you opened it:</p>
      <Changes conflict={found} />
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

const MAX_DIFFERENCES = 12

function Changes({ conflict }: { conflict: EditConflict }) {
  if (conflict.theirs.length === 0) return <p>It was changed and reverted.</p>
  return <DifferenceList differences={conflict.theirs} marked={conflict.overlapping} />
}

/** Lists old and new values. */
export function DifferenceList({
  differences,
  marked = [],
}: {
  differences: readonly Difference[]
  marked?: readonly string[]
}) {
  return (
    <ul className="graph-changes">
      {differences.slice(0, MAX_DIFFERENCES).map(({ field, before, after }) => (
        <li key={field}>
          <b>{visible(field, 80)}</b>: <del>{visible(valueText(before), 120)}</del> →{' '}
          <ins>{visible(valueText(after), 120)}</ins>
          {marked.includes(field) && <span className="tone-warn"> — you changed it too</span>}
        </li>
      ))}
      {differences.length > MAX_DIFFERENCES && <li>and {differences.length - MAX_DIFFERENCES} more</li>}
    </ul>
  )
}
