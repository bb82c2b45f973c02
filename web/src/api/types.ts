// Names for the responses of the operator API. Types that one page uses are defined in its folder.

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
/** A new key. This is the only response that contains its text. */
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

/** A recorded request of a key. */
export type RequestRecord = AdminSchemas['Use']
/** A recorded change by an operator. */
export type OperatorAction = AdminSchemas['Act']
