// Determines which changes of a history are in effect.

import type { Change } from './types'

export type ChangeStatus = 'in effect' | 'undone' | 'is an undo' | 'is a redo'

/**
 * Returns for each change whether it is in effect, from the undos and redos of the list, in any order. A list that
 * contains only the newest page is sufficient: an undo is always newer than the change that it undoes.
 */
export function changeStatuses(changes: readonly Change[]): Map<number, ChangeStatus> {
  const undone = new Map<string, boolean>()
  for (const change of [...changes].sort((a, b) => a.sequence - b.sequence)) {
    if (change.type === 'UNDO' && change.target) undone.set(change.target.commandId, true)
    if (change.type === 'REDO' && change.target) undone.set(change.target.commandId, false)
  }
  return new Map(
    changes.map((change) => {
      if (change.type === 'UNDO') return [change.sequence, 'is an undo']
      if (change.type === 'REDO') return [change.sequence, 'is a redo']
      return [change.sequence, undone.get(change.commandId) ? 'undone' : 'in effect']
    }),
  )
}

/** Adds a new change to the front of a list, newest first, once. */
export function withChange(changes: readonly Change[], change: Change): readonly Change[] {
  if (changes.some((known) => known.sequence === change.sequence)) return changes
  return [change, ...changes].sort((a, b) => b.sequence - a.sequence)
}
