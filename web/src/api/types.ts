// What the operator's routes answer with; schemas/admin.yaml is the source. Shapes of one page alone stand beside it.

export interface Session {
  operator: { id: string; name: string }
  csrfToken: string
  /** Unless it is used before. */
  expiresAt: string
}

export interface Operator {
  id: string
  name: string
  createdAt: string
  /** When the password was last changed. */
  updatedAt: string
  lastLoginAt: string | null
  lastLoginIp: string | null
  sessions: number
}

/** An operator that was just made; the password is there if the server made it. */
export interface NewOperator extends Operator {
  password?: string
}

export type Plan = 'starter' | 'pro' | 'enterprise'
export type Mode = 'live' | 'test'

export const SCOPES = [
  'read:nodes',
  'write:nodes',
  'read:edges',
  'write:edges',
  'read:livedata',
  'write:livedata',
  'admin',
] as const
export type Scope = (typeof SCOPES)[number]

export interface Workspace {
  id: string
  name: string
  plan: Plan
  mode: Mode
  /** Its own limits, of plan enterprise; null: the plan's. */
  perMinute: number | null
  perDay: number | null
  /** Those that hold; null: none. */
  limits: { requestsPerMinute: number | null; requestsPerDay: number | null; sources: number; series: number }
  /** null: points are kept permanently. */
  retentionDays: number | null
  sources: number
  series: number
  createdAt: string
  updatedAt: string
}

/** The usage of a workspace in a minute or a day; null: no limit, not counted. */
export interface Window {
  limit: number | null
  used: number | null
  remaining: number | null
  resetsAt: string
}

export interface WorkspaceDetail extends Workspace {
  standing: { minute: Window; day: Window }
  nodes: number
  edges: number
  /** That work. */
  keys: number
}

/** How far the deletion of a workspace is. */
export interface WorkspaceDeletion {
  id: string
  requestedAt: string
  stores: { store: string; found: number; left: number; done: boolean }[]
  /** Why it does not go on at this moment. */
  problem: string | null
  removedAt: string | null
  finishedAt: string | null
  deleted: boolean
}

export type KeyState = 'active' | 'expired' | 'revoked'

export interface Key {
  id: string
  /** What may be shown of it: lg_live_ and four characters. */
  display: string
  name: string
  mode: Mode
  scopes: Scope[]
  /** A name that is null: the workspace is deleted. */
  workspaces: { id: string; name: string | null }[]
  actorId: string
  rolledFrom: string | null
  createdBy: string
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  lastUsedFrom: string | null
  state: KeyState
  /** Active, and older than 90 days. */
  rollDue: boolean
}

/** A key that was just made: the only answer with its text. */
export interface NewKey extends Key {
  key: string
}

/** One use of a key. */
export interface Use {
  requestId: string
  timestamp: string
  keyId: string | null
  workspaceId: string | null
  method: string
  route: string
  status: number
  ip: string
  userAgent: string
  durationMs: number
  until: 'firstByte' | 'end'
  bytesIn: number
  bytesOut: number
  requests: number
}

/** Something that an operator did. */
export interface Act {
  timestamp: string
  requestId: string
  /** null: nobody who is known. */
  operator: { id: string; name: string } | null
  workspaceId: string | null
  method: string
  route: string
  subject: string
  /** null: not known. */
  status: number | null
  ip: string | null
  userAgent: string
  /** Of the command line `cli:` and the user of the machine. */
  actor: string
  results: string[]
  fields: string[]
}
