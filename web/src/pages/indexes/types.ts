// The search indexes as the operator's routes show them; schemas/admin.yaml is the source.

export interface Model {
  name: string
  dimensions: number
}

export interface IndexStatus {
  status: 'ready' | 'indexing' | 'degraded'
  model: Model | null
  nodes: { total: number; indexed: number; pending: number }
  lag: { events: number; seconds: number }
  lastIndexedAt: string | null
  reindex: { running: boolean; done: number; total: number; etaSeconds: number | null }
}

export interface WorkspaceIndex extends IndexStatus {
  workspace: { id: string; name: string }
}

/** An index of all workspaces: the one that is searched, or one that is being built beside it. */
export interface SearchIndex {
  id: string
  state: 'building' | 'live' | 'retired' | 'failed'
  cause: string
  model: Model
  createdAt: string
  /** Null: it is being built. */
  switchedAt: string | null
  done: number
  total: number
  etaSeconds: number | null
}

export interface Reindex {
  id: string
  state: 'queued' | 'running' | 'done'
  requestedBy: string
  requestedAt: string
  model: Model | null
  done: number
  total: number
  etaSeconds: number | null
  finishedAt: string | null
}

export interface Installed {
  indexes: SearchIndex[]
  /** What was asked for last; null: nobody asked of late. */
  last: Reindex | null
}
