// The points of a source as they arrive: what was before comes from a query, what follows from a stream.
import { ApiError } from '@/api'
import type { subscribe as subscribeTo, ServerEvent, StreamState } from '@/api'

import { type Deletion, liveLine, type LiveSeries, LiveWindow, tagNames } from './live'
import type { Line } from './lines'
import type { PointRows } from './shapes'

/** What is drawn of a metric. */
export interface LiveMetric {
  metric: string
  unit: string | null
  lines: Line[]
  /** Series that are not drawn. */
  more: number
  /** Those of texts, with their latest value. */
  texts: LiveSeries[]
  latest: LiveSeries['latest']
}

/** All that is shown, as it was at one moment. */
export interface Snapshot {
  /** Milliseconds; the right end of the charts. */
  at: number
  metrics: LiveMetric[]
  stream: StreamState
  /** What came before could not be asked for. */
  problem: unknown
  /** Points that came in the last seconds, a second. */
  pace: number
  /** Series that are left out because there are too many. */
  more: number
  /** Points may be missing since this message of the server. */
  gap: string | null
}

export interface FeedOptions {
  spanMs: number
  /** Milliseconds without a point after which a line breaks; undefined: what is unusual for its points. */
  gapMs: number | undefined
  history: (signal: AbortSignal) => Promise<PointRows[]>
  subscribe: (s: Pick<Parameters<typeof subscribeTo>[1], 'onEvent' | 'onState'>) => () => void
}

/** Lines of one chart. */
export const MAX_CHART_LINES = 20
/** Milliseconds over which the pace is taken. */
const PACE_OVER = 5_000

/**
 * A live feed. It is open while somebody listens: the first listener opens it, the last that leaves closes it.
 */
export class Feed {
  private readonly options: FeedOptions
  private readonly window: LiveWindow
  private readonly listeners = new Set<() => void>()
  private readonly pace = new Pace(PACE_OVER)
  private stream: StreamState = { status: 'connecting' }
  private problem: unknown = null
  private gap: string | null = null
  private dirty = false
  private paused = false
  private close: (() => void) | null = null
  private shown: Snapshot

  constructor(options: FeedOptions) {
    this.options = options
    this.window = new LiveWindow(options.spanMs)
    this.shown = this.look()
  }

  /** For useSyncExternalStore. */
  readonly snapshot = (): Snapshot => this.shown

  readonly listen = (listener: () => void): (() => void) => {
    this.listeners.add(listener)
    if (!this.close) this.open()
    return () => {
      this.listeners.delete(listener)
      if (this.listeners.size > 0) return
      this.close?.()
      this.close = null
    }
  }

  /** Pauses and resumes. Points that arrive during a pause are kept. */
  pause(paused: boolean): void {
    this.paused = paused
    if (!paused) this.show()
  }

  private open(): void {
    const stop = new AbortController()
    const unsubscribe = this.options.subscribe({
      onEvent: (event) => this.take(event, stop.signal),
      onState: (state) => {
        this.stream = state
        this.show()
      },
    })
    void this.recall(stop.signal)
    // A chart moves by one pixel in about this time.
    const often = Math.min(Math.max(this.options.spanMs / 1200, 250), 1000)
    const timer = window.setInterval(() => {
      const second = Date.now() - this.shown.at >= 1000
      if (this.dirty || second) this.show()
    }, often)
    this.close = () => {
      stop.abort()
      unsubscribe()
      window.clearInterval(timer)
    }
  }

  /** Asks for what was before. */
  private async recall(signal: AbortSignal): Promise<void> {
    try {
      const rows = await this.options.history(signal)
      if (signal.aborted) return
      this.window.add(rows, Date.now())
      this.problem = null
    } catch (error) {
      if (signal.aborted) return
      this.problem = error
    }
    this.show()
  }

  private take(event: ServerEvent, signal: AbortSignal): void {
    switch (event.event) {
      case 'points': {
        const at = Date.now()
        this.pace.add(this.window.add(JSON.parse(event.data) as PointRows[], at), at)
        this.dirty = true
        break
      }
      case 'deleted':
        this.window.remove(JSON.parse(event.data) as Deletion)
        this.dirty = true
        break
      case 'reset':
        // What was missed is stored by now.
        this.gap = (JSON.parse(event.data) as { message?: string }).message ?? ''
        void this.recall(signal)
        break
    }
  }

  private show(): void {
    if (this.paused || document.hidden) return
    this.dirty = false
    this.shown = this.look()
    for (const listener of this.listeners) listener()
  }

  private look(): Snapshot {
    const at = Date.now()
    this.window.trim(at)
    return {
      at,
      metrics: metricsOf(this.window.series(), this.options.gapMs),
      stream: this.stream,
      problem: this.problem,
      pace: this.pace.perSecond(at),
      more: this.window.more,
      gap: this.gap,
    }
  }
}

/** How many there were a second, of late: counted by tenths of the time it is taken over. */
class Pace {
  private readonly counts: { tenth: number; count: number }[] = []

  constructor(private readonly overMs: number) {}

  private tenth(at: number): number {
    return Math.floor((at / this.overMs) * 10)
  }

  add(count: number, at: number): void {
    const tenth = this.tenth(at)
    const last = this.counts.at(-1)
    if (last?.tenth === tenth) last.count += count
    else this.counts.push({ tenth, count })
    if (this.counts.length > 10) this.counts.shift()
  }

  perSecond(at: number): number {
    const oldest = this.tenth(at) - 10
    const sum = this.counts.reduce((sum, one) => sum + (one.tenth > oldest ? one.count : 0), 0)
    return sum / (this.overMs / 1000)
  }
}

function metricsOf(all: readonly LiveSeries[], gapMs: number | undefined): LiveMetric[] {
  const byMetric = new Map<string, LiveSeries[]>()
  for (const series of all) {
    const list = byMetric.get(series.metric)
    if (list) list.push(series)
    else byMetric.set(series.metric, [series])
  }
  return [...byMetric].map(([metric, list]) => {
    const numbers = list.filter((series) => !series.text)
    const names = tagNames(numbers)
    return {
      metric,
      unit: list[0]?.unit ?? null,
      lines: numbers
        .slice(0, MAX_CHART_LINES)
        .map((series, i) => liveLine(series, names[i] ?? '', gapMs === undefined ? undefined : gapMs * 1000)),
      more: Math.max(0, numbers.length - MAX_CHART_LINES),
      texts: list.filter((series) => series.text),
      latest: numbers.length === 1 ? (numbers[0]?.latest ?? null) : null,
    }
  })
}

/** Asks for something, and for something smaller where the server finds it too much. */
export async function orSmaller<T>(ask: () => Promise<T>, smaller: () => Promise<T>): Promise<T> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return smaller()
    throw error
  }
}
