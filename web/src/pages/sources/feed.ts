// The live points of a source: history by a query, new points by a stream.
import { ApiError } from '@/api'
import type { subscribe as subscribeTo, ServerEvent, StreamState } from '@/api'

import { type Deletion, liveLine, type LiveSeries, LiveWindow, tagNames } from './live'
import type { Line } from './lines'
import type { PointRows } from './shapes'

/** The chart data of a metric. */
export interface LiveMetric {
  metric: string
  unit: string | null
  lines: Line[]
  /** The number of series that are not drawn. */
  more: number
  /** String series with their latest value. */
  texts: LiveSeries[]
  latest: LiveSeries['latest']
}

/** The state at one time. */
export interface Snapshot {
  /** In milliseconds; the right end of the charts. */
  time: number
  metrics: LiveMetric[]
  stream: StreamState
  /** The error of the history query. */
  problem: unknown
  /** Points per second during the last seconds. */
  rate: number
  /** The number of series that are left out because there are too many. */
  more: number
  /** The server's message since which points may be missing. */
  gap: string | null
}

export interface FeedOptions {
  spanMs: number
  /** Milliseconds without a point after which a line breaks; undefined to derive it from the points. */
  gapMs: number | undefined
  history: (signal: AbortSignal) => Promise<PointRows[]>
  subscribe: (s: Pick<Parameters<typeof subscribeTo>[1], 'onEvent' | 'onState'>) => () => void
}

/** The maximum number of lines of one chart. */
export const MAX_CHART_LINES = 20
/** The window of the rate in milliseconds. */
const RATE_WINDOW_MS = 5_000

/** A live feed. The first listener opens it, and removing the last one closes it. */
export class Feed {
  private readonly options: FeedOptions
  private readonly window: LiveWindow
  private readonly listeners = new Set<() => void>()
  private readonly rateMeter = new RateMeter(RATE_WINDOW_MS)
  private stream: StreamState = { status: 'connecting' }
  private problem: unknown = null
  private gap: string | null = null
  private dirty = false
  private paused = false
  private close: (() => void) | null = null
  private current: Snapshot

  constructor(options: FeedOptions) {
    this.options = options
    this.window = new LiveWindow(options.spanMs)
    this.current = this.makeSnapshot()
  }

  /** For useSyncExternalStore. */
  readonly snapshot = (): Snapshot => this.current

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
    if (!paused) this.publish()
  }

  private open(): void {
    const stop = new AbortController()
    const unsubscribe = this.options.subscribe({
      onEvent: (event) => this.onEvent(event, stop.signal),
      onState: (state) => {
        this.stream = state
        this.publish()
      },
    })
    void this.loadHistory(stop.signal)
    // A chart moves by one pixel in about this time.
    const refreshMs = Math.min(Math.max(this.options.spanMs / 1200, 250), 1000)
    const timer = window.setInterval(() => {
      const second = Date.now() - this.current.time >= 1000
      if (this.dirty || second) this.publish()
    }, refreshMs)
    this.close = () => {
      stop.abort()
      unsubscribe()
      window.clearInterval(timer)
    }
  }

  /** Loads the history. */
  private async loadHistory(signal: AbortSignal): Promise<void> {
    try {
      const rows = await this.options.history(signal)
      if (signal.aborted) return
      this.window.add(rows, Date.now())
      this.problem = null
    } catch (error) {
      if (signal.aborted) return
      this.problem = error
    }
    this.publish()
  }

  private onEvent(event: ServerEvent, signal: AbortSignal): void {
    switch (event.event) {
      case 'points': {
        const now = Date.now()
        this.rateMeter.add(this.window.add(JSON.parse(event.data) as PointRows[], now), now)
        this.dirty = true
        break
      }
      case 'deleted':
        this.window.remove(JSON.parse(event.data) as Deletion)
        this.dirty = true
        break
      case 'reset':
        // The missed points are stored by now.
        this.gap = (JSON.parse(event.data) as { message?: string }).message ?? ''
        void this.loadHistory(signal)
        break
    }
  }

  private publish(): void {
    if (this.paused || document.hidden) return
    this.dirty = false
    this.current = this.makeSnapshot()
    for (const listener of this.listeners) listener()
  }

  private makeSnapshot(): Snapshot {
    const time = Date.now()
    this.window.trim(time)
    return {
      time,
      metrics: metricsOf(this.window.series(), this.options.gapMs),
      stream: this.stream,
      problem: this.problem,
      rate: this.rateMeter.perSecond(time),
      more: this.window.more,
      gap: this.gap,
    }
  }
}

/** Measures a rate over a moving window of ten slots. */
class RateMeter {
  private readonly counts: { tenth: number; count: number }[] = []

  constructor(private readonly windowMs: number) {}

  private tenth(time: number): number {
    return Math.floor((time / this.windowMs) * 10)
  }

  add(count: number, time: number): void {
    const tenth = this.tenth(time)
    const last = this.counts.at(-1)
    if (last?.tenth === tenth) last.count += count
    else this.counts.push({ tenth, count })
    if (this.counts.length > 10) this.counts.shift()
  }

  perSecond(time: number): number {
    const oldest = this.tenth(time) - 10
    const sum = this.counts.reduce((sum, item) => sum + (item.tenth > oldest ? item.count : 0), 0)
    return sum / (this.windowMs / 1000)
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

/** Sends a request, and a smaller one if the server refuses it as too large. */
export async function withFallback<T>(request: () => Promise<T>, fallback: () => Promise<T>): Promise<T> {
  try {
    return await request()
  } catch (error) {
    if (error instanceof ApiError && error.status === 422) return fallback()
    throw error
  }
}
