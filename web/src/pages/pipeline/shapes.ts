// What the operator's routes on the pipeline answer with; schemas/admin.yaml is the source.

export interface Partition {
  partition: number
  begin: number
  /** Exclusive. */
  end: number
  bytes: number
}

/** A built-in consumer of a topic. */
export interface Reader {
  group: string
  lag: number
  /** In the order of the topic's. */
  partitions: ReaderPartition[]
}

export interface ReaderPartition {
  partition: number
  committed: number | null
  lag: number
}

export interface Topic {
  /** Without the installation's prefix. */
  topic: string
  name: string
  /** Of each partition; -1: not bounded. */
  retentionBytes: number
  bytes: number
  records: number
  /** Of the reader that is furthest behind; null: there is none. */
  lag: number | null
  readers: Reader[]
  partitions: Partition[]
  deadLetters: LetterCounts | null
}

export interface LetterCounts {
  open: number
  redriven: number
  discarded: number
}

export interface Place {
  topic: string
  partition: number
  offset: number
}

export type LetterState = 'open' | 'redriven' | 'discarded'

export interface Letter extends Place {
  at: string
  origin: Place | null
  reason: string
  requestId: string
  version?: string
  bytes: number
  /** Null: the record cannot be read. */
  workspaceId: string | null
  holds: string
  state: LetterState
  mark: { state: LetterState; by: string; reason?: string; at: string } | null
}

export interface DecodedSeries {
  sourceId: string
  metric: string
  tags: Record<string, string>
  kind: 'number' | 'string'
  count: number
  from: string
  to: string
  points: [at: string, value: number | string][]
}

/** What is in a record, as far as it can be read. */
export interface Decoded {
  receivedAt?: string
  series?: DecodedSeries[]
  moreSeries?: number
  deletions?: { sourceId: string; metric?: string; from?: string; to?: string; wholeSource?: boolean }[]
  command?: {
    id: string
    mode: string
    actorId: string
    scopes: string[]
    acceptedAt: string
    commands: { type: string; expectedVersion?: number; payload: unknown }[]
  }
  event?: unknown
  use?: { requestId: string; at: string; keyId: string | null; method: string; route: string; status: number }
  problem?: string
}

export interface ShownLetter extends Letter {
  headers: Record<string, string>
  decoded: Decoded
  /** As they are, in base64. */
  key: string | null
  value: string | null
}

export interface LetterFilter {
  topics?: string[]
  workspaceId?: string
  from?: string
  to?: string
  reasonContains?: string
  states?: LetterState[]
}

export type Action = 'redrive' | 'discard'

export interface ActionRequest {
  places?: Place[]
  filter?: LetterFilter
  dryRun: boolean
  again?: boolean
  reason?: string
  cursor?: string
}

export type Fate = 'would' | 'redriven' | 'discarded' | 'skipped'

export interface Outcome extends Letter {
  fate: Fate
  why?: string
}

export interface Acted {
  outcomes: Outcome[]
  counts: Record<Fate, number>
  scanned: number
  total: number
  skipped: number
  matched: number
  /** Null: all is done. */
  nextCursor: string | null
}

export type ReplayState = 'queued' | 'running' | 'done' | 'failed' | 'cancelled'

export interface ReplayPartition {
  partition: number
  from: number
  /** Exclusive. */
  to: number
  next: number
  trimmed: number
}

export interface PlannedReplay {
  topic: string
  consumer: string
  records: number
  partitions: ReplayPartition[]
}

export interface Replay extends PlannedReplay {
  id: string
  workspaceId: string | null
  state: ReplayState
  requestedBy: string
  maxRowsPerSecond: number | null
  cancelRequested: boolean
  runs: number
  rows: number
  refused: number
  recordsPerSecond: number
  rowsPerSecond: number
  error: string | null
  createdAt: string
  startedAt: string | null
  finishedAt: string | null
  updatedAt: string
  recordsDone: number
  trimmed: number
  percent: number
  etaSeconds: number | null
  notes: string[]
}

export interface ReplayRequest {
  topic: string
  fromStart?: boolean
  fromTime?: string
  fromOffsets?: Record<string, number>
  toTime?: string
  toOffsets?: Record<string, number>
  partitions?: number[]
  workspaceId?: string
  maxRowsPerSecond?: number
  dryRun?: boolean
}
