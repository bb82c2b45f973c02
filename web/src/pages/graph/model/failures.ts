// What a refused command means for the person who asked for it, and what to do next.

import { ApiError } from '@/api'
import { shortId, visible } from '@/ui/format'

import type { Obstacle } from './types'

/** Something to do about a failure. */
export type Remedy = 'reload' | 'undo-blocker' | 'pick-other' | 'retry' | null

export interface Failure {
  title: string
  text: string
  remedy: Remedy
  obstacles: Obstacle[]
  /** Of a command whose outcome is not known. */
  commandId: string | null
  requestId: string | null
  /** The field of the form that it is about: `name`, `properties.site`. */
  field: string | null
}

function obstaclesOf(error: ApiError): Obstacle[] {
  const list = error.details['conflicts']
  return Array.isArray(list) ? (list as Obstacle[]) : []
}

/** Explains why a command failed. Errors that are not the server's are shown as they are. */
export function explainFailure(cause: unknown): Failure {
  if (!(cause instanceof ApiError)) {
    return blank(
      'The command failed',
      visible(cause instanceof Error ? cause.message : String(cause)),
      null,
      null,
    )
  }
  const failure = blank('The command failed', cause.message, null, cause.requestId)
  failure.field = fieldOf(cause)
  switch (cause.status) {
    case 403:
      return { ...failure, title: 'Not allowed', remedy: null }
    case 404:
      return { ...failure, ...missing(cause) }
    case 409:
      return { ...failure, ...conflict(cause) }
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

function blank(title: string, text: string, remedy: Remedy, requestId: string | null): Failure {
  return { title, text, remedy, obstacles: [], commandId: null, requestId, field: null }
}

/** `payload.name` is `name` to the one who filled in the form. */
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

function missing(error: ApiError): Partial<Failure> {
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

function conflict(error: ApiError): Partial<Failure> {
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
        obstacles: obstaclesOf(error),
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

/** No response with an outcome: an overload, an unavailable server, a timeout. */
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
export function obstacleText(obstacle: Obstacle, nameOf: (id: string) => string | null): string {
  const name = nameOf(obstacle.id)
  const what = `${obstacle.kind === 'node' ? 'Node' : 'Edge'} ${name ? `“${visible(name, 80)}”` : shortId(obstacle.id)}`
  return obstacle.field
    ? `${what}: ${visible(obstacle.field, 120)} has changed since`
    : `${what}: created, changed or deleted since`
}

/** Returns the conflicting commands, each once. */
export function blockers(obstacles: readonly Obstacle[]): string[] {
  return [...new Set(obstacles.map((obstacle) => obstacle.byCommandId))]
}
