// What the operator's routes answer with; schemas/admin.yaml is the source. Shapes of one page alone stand beside it.

export interface Operator {
  id: string
  name: string
  createdAt?: string
  lastLoginAt?: string | null
}

export interface Session {
  operator: Operator
  csrfToken: string
  expiresAt: string
}

export type Plan = 'starter' | 'pro' | 'enterprise'
export type Mode = 'live' | 'test'
export type Scope =
  | 'read:nodes'
  | 'write:nodes'
  | 'read:edges'
  | 'write:edges'
  | 'read:livedata'
  | 'write:livedata'
  | 'admin'

/** Of a workspace; null: unlimited. */
export interface Limits {
  requestsPerMinute: number | null
  requestsPerDay: number | null
  sources: number | null
  series: number | null
}

export interface Workspace {
  id: string
  name: string
  mode: Mode
  plan: Plan
  limits: Limits
  createdAt: string
}

export interface Key {
  id: string
  name: string
  /** What may be shown of it: lg_live_ and four characters. */
  display: string
  mode: Mode
  scopes: Scope[]
  workspaces: { id: string; name: string }[]
  actorId: string
  createdBy: string | null
  createdAt: string
  expiresAt: string | null
  revokedAt: string | null
  lastUsedAt: string | null
  lastUsedFrom: string | null
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
