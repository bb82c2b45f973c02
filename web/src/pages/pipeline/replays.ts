// The form of a replay and its request.
import { instantOf } from '../sources/zones'
import type { Replay, ReplayRequest, ReplayState } from './shapes'

export interface ReplayDraft {
  topic: ReplayRequest['topic']
  from: 'start' | 'time' | 'offsets'
  /** Local time in `zone`, in the format of the input. */
  fromTime: string
  to: 'end' | 'time' | 'offsets'
  toTime: string
  /** `0: 100, 1: 250`, or one per line. */
  fromOffsets: string
  toOffsets: string
  /** `0, 2-4`; empty for all. */
  partitions: string
  workspaceId: string
  maxRows: string
}

/** The topics that can be replayed. */
export const REPLAYABLE = ['points'] as const satisfies readonly ReplayRequest['topic'][]

export const emptyReplay = (): ReplayDraft => ({
  topic: REPLAYABLE[0],
  from: 'start',
  fromTime: '',
  to: 'end',
  toTime: '',
  fromOffsets: '',
  toOffsets: '',
  partitions: '',
  workspaceId: '',
  maxRows: '',
})

export type ReplayProblems = Partial<Record<keyof ReplayDraft, string>>

/** Parses offsets by partition; undefined if the text is invalid. */
export function readOffsets(text: string): Record<string, number> | undefined {
  const offsets: Record<string, number> = {}
  for (const part of text.split(/[,;\n]/)) {
    if (part.trim() === '') continue
    const match = /^\s*(\d{1,6})\s*[:=]\s*(\d{1,15})\s*$/.exec(part)
    const [, partition, offset] = match ?? []
    if (partition === undefined || offset === undefined) return undefined
    const name = String(Number(partition))
    if (name in offsets) return undefined
    offsets[name] = Number(offset)
  }
  return offsets
}

/** Parses partition numbers; undefined if the text is invalid. */
export function readPartitions(text: string): number[] | undefined {
  const found = new Set<number>()
  for (const part of text.split(/[,\s]+/)) {
    if (part === '') continue
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part)
    if (!match) return undefined
    const from = Number(match[1])
    const to = Number(match[2] ?? match[1])
    if (to < from || to - from > 10_000) return undefined
    for (let n = from; n <= to; n++) found.add(n)
  }
  return [...found].sort((a, b) => a - b)
}

/** Returns the request of a draft, or its errors by field. */
export function replayRequest(
  d: ReplayDraft,
  zone: string,
  now: number,
): { request: ReplayRequest; problems: ReplayProblems } {
  const problems: ReplayProblems = {}
  const request: ReplayRequest = { topic: d.topic }
  const from = d.from === 'time' ? instantOf(d.fromTime, zone) : undefined
  const to = d.to === 'time' ? instantOf(d.toTime, zone) : undefined
  if (d.from === 'start') request.fromStart = true
  if (d.from === 'time') {
    if (from === undefined) problems.fromTime = 'Enter a date and a time.'
    else if (from > now) problems.fromTime = 'This is in the future.'
    else request.fromTime = new Date(from).toISOString()
  }
  if (d.to === 'time') {
    if (to === undefined) problems.toTime = 'Enter a date and a time.'
    else if (from !== undefined && to <= from) problems.toTime = 'The end must be after the start.'
    else request.toTime = new Date(to).toISOString()
  }
  if (d.from === 'offsets') setOffsets('fromOffsets')
  if (d.to === 'offsets') setOffsets('toOffsets')
  function setOffsets(field: 'fromOffsets' | 'toOffsets') {
    const offsets = readOffsets(d[field])
    if (!offsets || Object.keys(offsets).length === 0)
      problems[field] = 'Partition and offset, each partition once: 0: 1200, 1: 980.'
    else request[field] = offsets
  }
  const partitions = readPartitions(d.partitions)
  if (d.from !== 'offsets') {
    if (!partitions) problems.partitions = 'Numbers of partitions: 0, 2-4.'
    else if (partitions.length > 0) request.partitions = partitions
  }
  if (d.workspaceId !== '') request.workspaceId = d.workspaceId
  if (d.maxRows.trim() !== '') {
    const rows = Number(d.maxRows)
    if (Number.isSafeInteger(rows) && rows > 0) request.maxRowsPerSecond = rows
    else problems.maxRows = 'A whole number above zero, or empty.'
  }
  return { request, problems }
}

export const isOver = (state: ReplayState): boolean =>
  state === 'done' || state === 'failed' || state === 'cancelled'

/** Returns the poll interval of replays in milliseconds: short while one is running. */
export const refetchInterval = (replays: readonly Replay[] | undefined): number =>
  replays?.some((replay) => !isOver(replay.state)) ? 1000 : 10_000

/** Returns a percentage that is 100 % only at the end. */
export function percentText(replay: Pick<Replay, 'percent' | 'state'>): string {
  const shown = replay.state === 'done' ? 100 : Math.min(replay.percent, 99.9)
  if (shown > 0 && shown < 0.1) return 'under 0.1 %'
  return `${shown >= 10 || shown === 0 ? Math.floor(shown) : shown.toFixed(1)} %`
}
