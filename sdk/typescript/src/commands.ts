/** Builds commands for `client.commands.execute` and `client.commands.batch`. */

import type {
  Command,
  CreateEdge,
  CreateNode,
  EdgeChanges,
  NodeChanges,
  UpsertEdge,
  UpsertNode,
} from './types.js'

/** Options of updates and deletions. */
export interface VersionOptions {
  /** The command fails with a conflict if the resource has another version. */
  expectedVersion?: number
}

/** Selects the command that is undone or redone: the last one of the scope, or the one with the id. */
export interface Pick {
  /** The last command of the actor (`mine`, the default), or of any actor. */
  scope?: 'mine' | 'workspace'
  /** This command or atomic batch, of any actor. */
  commandId?: string
}

/** Returns a command that creates a node. Without an id, the server chooses it. */
export function createNode(node: CreateNode): Command {
  return { type: 'CREATE_NODE', payload: node }
}

/** Returns a command that changes fields of a node. `properties` is a merge patch: null removes a property. */
export function updateNode(
  id: string,
  changes: NodeChanges,
  { expectedVersion }: VersionOptions = {},
): Command {
  return { type: 'UPDATE_NODE', payload: { ...changes, id }, expectedVersion }
}

/** Returns a command that deletes a node with its edges. */
export function deleteNode(id: string, { expectedVersion }: VersionOptions = {}): Command {
  return { type: 'DELETE_NODE', payload: { id }, expectedVersion }
}

/** Returns a command that creates an edge from the source to the target. Without an id, the server chooses it. */
export function createEdge(edge: CreateEdge): Command {
  return { type: 'CREATE_EDGE', payload: edge }
}

/** Returns a command that changes fields of an edge. `properties` is a merge patch: null removes a property. */
export function updateEdge(
  id: string,
  changes: EdgeChanges,
  { expectedVersion }: VersionOptions = {},
): Command {
  return { type: 'UPDATE_EDGE', payload: { ...changes, id }, expectedVersion }
}

/** Returns a command that deletes an edge. */
export function deleteEdge(id: string, { expectedVersion }: VersionOptions = {}): Command {
  return { type: 'DELETE_EDGE', payload: { id }, expectedVersion }
}

/**
 * Returns a command that changes the node with the entity type and the key, or creates it. `effect` of the result is
 * `created`, `updated` or `unchanged`. `properties` is a merge patch: null removes a property.
 */
export function upsertNode(node: UpsertNode): Command {
  return { type: 'UPSERT_NODE', payload: node }
}

/** Returns a command that changes the edge of the type from the source to the target, or creates it. */
export function upsertEdge(edge: UpsertEdge): Command {
  return { type: 'UPSERT_EDGE', payload: edge }
}

/** Returns a command that cancels the last command of the scope, or the command or atomic batch with the id. */
export function undo({ scope, commandId }: Pick = {}): Command {
  return { type: 'UNDO', payload: { scope, commandId } }
}

/** Returns a command that restores the command that was cancelled last, or the one with the id. */
export function redo({ scope, commandId }: Pick = {}): Command {
  return { type: 'REDO', payload: { scope, commandId } }
}
