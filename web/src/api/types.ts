// Names for what the operator's routes answer with. Shapes of one page alone are defined beside it.

import type { AdminSchemas } from './schemas'

export type Session = AdminSchemas['Session']
export type Operator = AdminSchemas['Operator']

export type Workspace = AdminSchemas['Workspace']
export type WorkspaceDetail = AdminSchemas['WorkspaceDetail']
export type WorkspaceDeletion = AdminSchemas['Deletion']
export type Window = AdminSchemas['Window']
export type Plan = Workspace['plan']
export type Mode = Workspace['mode']

export type Key = AdminSchemas['Key']
/** A key that was just created: the only answer with its text. */
export type NewKey = AdminSchemas['MadeKey']
export type KeyState = Key['state']
export type Scope = AdminSchemas['Scope']

export const SCOPES = [
  'read:nodes',
  'write:nodes',
  'read:edges',
  'write:edges',
  'read:livedata',
  'write:livedata',
  'admin',
] as const satisfies readonly Scope[]

/** One use of a key. */
export type Use = AdminSchemas['Use']
/** Something that an operator did. */
export type Act = AdminSchemas['Act']
