// Explanations of refused commands and the next steps.

import { ApiError } from '@/api'
import { shortId, visible } from '@/ui/format'

import type { Conflict } from './types'

/** What the user can do about a failure. */
export type Remedy = 'reload' | 'undo-blocker' | 'pick-other' | 'retry' | null

export interface Failure {
  title: string
  text: string
  remedy: Remedy
  conflicts: Conflict[]
  /** The id of a command whose outcome is unknown. */
  commandId: string | null
  requestId: string | null
  /** The form field of the error: `name`, `properties.site`. */
  field: string | null
}

function conflictsOf(error: ApiError): Conflict[] {
  const list = error.details['conflicts']
  return Array.isArray(list) ? (list as Conflict[]) : []
}

/** Explains why a command failed. Errors that are not from the server are shown unchanged. */
export function explainFailure(cause: unknown): Failure {
  if (!(cause instanceof ApiError)) {
    return failureOf(
      'The command failed',
      visible(cause instanceof Error ? cause.message : String(cause)),
      null,
      null,
    )
  }
  const failure = failureOf('The command failed', cause.message, null, cause.requestId)
  failure.field = fieldOf(cause)
  switch (cause.status) {
    case 403:
      return { ...failure, title: 'Not allowed', remedy: null }
    case 404:
      return { ...failure, ...explainNotFound(cause) }
    case 409:
      return { ...failure, ...explainConflict(cause) }
    case 400:
    case 413:
    case 422:
      return { ...failure, title: 'Invalid value', text: valueProblem(cause) }
    case 429:
      return {
        ...failure,
        title: 'The server is busy',
        text: `${cause.message}. The command was not accepted. Send it again in a moment.`,
        remedy: 'retry',
      }
    case 401:
      return failure
    default:
      return { ...failure, ...unknownOutcome(cause) }
  }
}

function failureOf(title: string, text: string, remedy: Remedy, requestId: string | null): Failure {
  return { title, text, remedy, conflicts: [], commandId: null, requestId, field: null }
}

/** Returns the form field of an error: `name` for `payload.name`. */
function fieldOf(error: ApiError): string | null {
  const field = error.details.field
  if (!field) return null
  return field.replace(/^commands\[\d+\]\./, '').replace(/^payload\./, '')
}

function valueProblem(error: ApiError): string {
  const field = fieldOf(error)
  const { reason, allowed } = error.details
  const what = field && reason ? `${field} ${reason}.` : `${error.message}.`
  return visible(allowed && allowed.length > 0 ? `${what} Allowed: ${allowed.join(', ')}.` : what)
}

function explainNotFound(error: ApiError): Partial<Failure> {
  const field = fieldOf(error)
  if (field === 'sourceId' || field === 'targetId') {
    const end = field === 'sourceId' ? 'begins' : 'ends'
    return {
      title: 'A node of the edge was deleted',
      text: `Somebody deleted the node where the edge ${end}. Choose another one.`,
      remedy: 'pick-other',
    }
  }
  return {
    title: 'It was deleted',
    text: 'Somebody deleted it. Undo the deletion in the history.',
    remedy: 'reload',
  }
}

function explainConflict(error: ApiError): Partial<Failure> {
  const { expectedVersion, actualVersion, reason } = error.details
  if (typeof expectedVersion === 'number' && typeof actualVersion === 'number') {
    return {
      title: 'Somebody else changed it',
      text: `You edited version ${expectedVersion}; the current version is ${actualVersion}. Your changes are not saved yet.`,
      remedy: 'reload',
    }
  }
  switch (reason) {
    case 'undo_blocked':
      return {
        title: 'Conflict with later changes',
        text: 'The nodes or edges of the command have changed since. Nothing was undone or redone.',
        remedy: 'undo-blocker',
        conflicts: conflictsOf(error),
      }
    case 'nothing_to_undo':
      return {
        title: 'Nothing to undo',
        text: 'You have no command to undo. To undo commands of others, use “Undo in the workspace” or the history.',
      }
    case 'nothing_to_redo':
      return { title: 'Nothing to redo', text: 'Nothing was undone since the last change.' }
    case 'already_exists':
      return {
        title: 'The id is already in use',
        text: `${error.message}. An id cannot be used again, even after a deletion.`,
      }
    default:
      return { title: 'Conflict with existing data', text: error.message }
  }
}

/** Explains a response without an outcome: an overload, an unavailable server, a timeout. */
function unknownOutcome(error: ApiError): Partial<Failure> {
  const id = error.details['commandId']
  return {
    title: 'Unknown outcome',
    text: `${error.message}. The command may have been applied, or may be applied later. If you send it again without changes, it is applied only once.`,
    remedy: 'retry',
    commandId: typeof id === 'string' ? id : null,
  }
}

/** Describes one conflict. */
export function conflictText(conflict: Conflict, nameOf: (id: string) => string | null): string {
  const name = nameOf(conflict.id)
  const what = `${conflict.kind === 'node' ? 'Node' : 'Edge'} ${name ? `“${visible(name, 80)}”` : shortId(conflict.id)}`
  return conflict.field
    ? `${what}: ${visible(conflict.field, 120)} has changed since`
    : `${what}: created, changed or deleted since`
}

/** Returns the conflicting commands, each once. */
export function blockingCommands(conflicts: readonly Conflict[]): string[] {
  return [...new Set(conflicts.map((conflict) => conflict.byCommandId))]
}
