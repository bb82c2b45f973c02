// A conflict of concurrent edits of a file of rules: the other change and the two options.

import { Button, Notice, visible } from '@/ui'

import { changeOf, unixLines } from './ruleText'
import type { StoredFile } from './writes'

interface FileConflictProps {
  base: StoredFile
  /** The current file; null if it was deleted. */
  theirs: StoredFile | null
  onOverwrite: (theirs: StoredFile | null) => void
  onDiscard: (theirs: StoredFile | null) => void
}

export function FileConflict({ base, theirs, onOverwrite, onDiscard }: FileConflictProps) {
  return (
    <Notice tone="warn" title={`Somebody else ${theirs ? 'changed' : 'deleted'} this file`}>
      <p>Your changes are not saved yet. {theirs && 'Changes since you opened it:'}</p>
      {theirs && <Difference old={unixLines(base.content)} text={unixLines(theirs.content)} />}
      <div className="row alerts-conflict-actions">
        <Button size="s" variant="primary" onClick={() => onOverwrite(theirs)}>
          {theirs ? 'Overwrite their changes' : 'Create it again'}
        </Button>
        <Button size="s" onClick={() => onDiscard(theirs)}>
          {theirs ? 'Load the stored version' : 'Discard my changes'}
        </Button>
      </div>
      <p className="muted">
        {theirs
          ? 'Your text stays below until you load the stored version.'
          : 'Your text stays below. Review, then save.'}
      </p>
    </Notice>
  )
}

/** The maximum number of removed lines, and of added ones, that are shown. */
const MAX_LINES = 12

function Difference({ old, text }: { old: string; text: string }) {
  const { before, removed, added } = changeOf(old, text)
  if (removed.length + added.length === 0) return <p>It was changed and reverted.</p>
  return (
    <div
      className="alerts-difference"
      role="region"
      aria-label={`Changes from line ${before + 1}`}
      // It scrolls, so it must be focusable.
      // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
      tabIndex={0}
    >
      {removed.slice(0, MAX_LINES).map((line, i) => (
        <del key={`-${i}`}>− {visible(line, 200)}</del>
      ))}
      {removed.length > MAX_LINES && <span>− and {removed.length - MAX_LINES} more</span>}
      {added.slice(0, MAX_LINES).map((line, i) => (
        <ins key={`+${i}`}>+ {visible(line, 200)}</ins>
      ))}
      {added.length > MAX_LINES && <span>+ and {added.length - MAX_LINES} more</span>}
    </div>
  )
}
