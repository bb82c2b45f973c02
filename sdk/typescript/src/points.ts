/** The points of sources. */

import type {
  AggregateQuery,
  Aggregation,
  CursorPage,
  LatestQuery,
  OffsetPage,
  RawQuery,
  RequestOptions,
  SeriesSelector,
} from './filters.js'
import { encode, idempotency, json, query, type Request, selection } from './request.js'
import type { Page } from './response.js'
import type { StreamEvent } from './sse.js'
import { EventStream, type StreamOptions } from './stream.js'
import type { Transport } from './transport.js'
import type {
  IngestAnswer,
  LinePrecision,
  NewPoint,
  NewSeries,
  PointRows,
  PointsDeletion,
  PointsMeta,
  Precision,
  Series,
  Tags,
  Time,
} from './types.js'

export const queryPath = '/api/live-data/query'

/** What applies to all points of a request. */
export interface WriteOptions extends RequestOptions {
  /** The name of the source of points without one. The source must exist. */
  source?: string
  /** The metric of points without one. */
  metric?: string
  /** The tags of points without tags. */
  tags?: Tags
  /** The unit of timestamps that are numbers, by default `ms`. Numbers are not exact for nanoseconds of today. */
  precision?: Precision
  /** Reject all points if one is rejected. */
  strict?: boolean
}

/** How line protocol is written. */
export interface LineOptions extends RequestOptions {
  /** The unit of timestamps, by default `ns`. */
  precision?: LinePrecision
  /** Reject all points if one is rejected. */
  strict?: boolean
}

/** What of a source is deleted. */
export interface PointsRange extends RequestOptions {
  /** Only points of this metric. */
  metric?: string
  /** Inclusive; by default, from the first point. */
  from?: Time
  /** Exclusive; by default, to the last point. */
  to?: Time
}

/** Why points may be missing in a stream. */
export interface StreamGap {
  reason: string
  message: string
  /** Points that were received before this time are not missing. */
  since: string
}

/** The points that a `deleted` event reports. A field that is null does not restrict them. */
export interface DeletedPoints {
  sourceId: string | null
  sourceName: string | null
  metric: string | null
  /** Inclusive. */
  from: string | null
  /** Exclusive. */
  to: string | null
  /** The source itself was deleted. */
  wholeSource: boolean
}

/** An event of a stream of points. */
export type PointsEvent =
  | StreamEvent<'points', PointRows[]>
  | StreamEvent<'deleted', DeletedPoints>
  | StreamEvent<'reset' | 'dropped', StreamGap>

/** The points of sources. */
export class Points {
  readonly #transport: Transport

  /** @internal */
  constructor(transport: Transport) {
    this.#transport = transport
  }

  /**
   * Writes up to 1,000,000 points, such as `{ metric: 'temperature', value: 71.5 }`.
   *
   * A request with points without a timestamp has an idempotency key: they get the time when the server received the
   * first attempt.
   *
   * The result has `accepted` and `rejected`, the numbers of points; `errors`, why points were rejected; and the
   * `checkpoint` for `waitVisible`. Accepted points are durable.
   *
   * @throws ValidationError if all points were rejected
   */
  write(
    points: readonly NewPoint[],
    { strict, signal, ...shared }: WriteOptions = {},
  ): Promise<IngestAnswer> {
    const timed = points.every((point) => point.timestamp != null)
    return this.#ingest(encode({ ...shared, points }), { strict }, json, timed, signal)
  }

  /** Writes points as columns, which is faster for many points of each series. See `write`. */
  writeSeries(
    series: readonly NewSeries[],
    { strict, signal, ...shared }: WriteOptions = {},
  ): Promise<IngestAnswer> {
    const timed = series.every((item) => item.timestamps != null)
    return this.#ingest(encode({ ...shared, series }), { strict }, json, timed, signal)
  }

  /**
   * Writes line protocol, such as `boiler,room=A temperature=71.5 1748768400000000000`. A source that does not exist
   * is created.
   */
  writeLines(lines: string | Uint8Array, { signal, ...parameters }: LineOptions = {}): Promise<IngestAnswer> {
    return this.#ingest(lines, parameters, { 'Content-Type': 'text/plain' }, false, signal)
  }

  #ingest(
    body: string | Uint8Array,
    { strict, precision }: { strict?: boolean; precision?: LinePrecision },
    type: Record<string, string>,
    timed: boolean,
    signal?: AbortSignal,
  ): Promise<IngestAnswer> {
    return this.#transport.data<IngestAnswer>(
      {
        method: 'POST',
        path: '/api/live-data/ingest',
        query: query({ strict: strict || undefined, precision }),
        body,
        // Points with timestamps replace themselves when they are sent again.
        headers: timed ? type : { ...type, ...idempotency() },
      },
      { signal },
    )
  }

  /** Returns a page of at most 100 series with their raw points. The points of one series are paged by `nextCursor`. */
  query({ signal, ...selector }: RawQuery & CursorPage & RequestOptions = {}): Promise<
    Page<PointRows, PointsMeta>
  > {
    return this.#transport.page<PointRows, PointsMeta>(points({ limit: 100, ...selector }), { signal })
  }

  /** Iterates over the series with their raw points, page by page. A series can be returned in several parts. */
  iterate({ signal, ...selector }: RawQuery & RequestOptions = {}): AsyncGenerator<
    PointRows,
    void,
    undefined
  > {
    return this.#transport.pages(points({ limit: 100, ...selector }), { signal })
  }

  /** Returns a page of at most 100 series, or groups, with one column per function and one row per bucket. */
  aggregate(
    aggregation: Aggregation | readonly Aggregation[],
    { signal, ...selector }: AggregateQuery & OffsetPage & RequestOptions = {},
  ): Promise<Page<PointRows, PointsMeta>> {
    const functions = typeof aggregation === 'string' ? aggregation : aggregation.join(',')
    const request = points({ limit: 100, ...selector, aggregation: functions })
    return this.#transport.page<PointRows, PointsMeta>(request, { signal })
  }

  /** Returns the newest point of each series, of any age unless `from` is given. */
  latest({ signal, ...selector }: LatestQuery & OffsetPage & RequestOptions = {}): Promise<
    Page<PointRows, PointsMeta>
  > {
    return this.#transport.page<PointRows, PointsMeta>(points({ limit: 100, ...selector, latest: true }), {
      signal,
    })
  }

  /** Iterates over the series with the number of their points and the times of the oldest and the newest. */
  series({ signal, ...selector }: SeriesSelector & RequestOptions = {}): AsyncGenerator<
    Series,
    void,
    undefined
  > {
    const fields = selection({ limit: 100, ...selector })
    return this.#transport.pages<Series>(
      { method: 'GET', path: '/api/live-data/series', query: fields },
      { signal },
    )
  }

  /**
   * Returns a stream of the points that arrive from now on, or after the event with the id `after`.
   *
   * Events `reset` and `dropped` mean that events since `data.since` may be missing: query these points. After
   * `dropped` the stream is opened again. A point can be received more than once; the last value of a series and time
   * applies.
   */
  stream({
    after,
    signal,
    ...selector
  }: SeriesSelector & StreamOptions<string> = {}): EventStream<PointsEvent> {
    const request = { method: 'GET', path: '/api/live-data/stream', query: selection(selector) } as const
    return new EventStream<PointsEvent>(this.#transport, request, { after, signal })
  }

  /**
   * Deletes the points of a source that were accepted before the request. It requires the scope `admin`.
   *
   * The request is not repeated if the server may have executed it, because points that were accepted in the meantime
   * would be deleted.
   */
  delete(sourceId: string, { signal, ...range }: PointsRange = {}): Promise<PointsDeletion> {
    const fields = query({ sourceId, ...range })
    return this.#transport.data<PointsDeletion>(
      { method: 'DELETE', path: '/api/live-data/points', query: fields, repeatable: false },
      { signal },
    )
  }
}

function points(selector: object): Request<PointRows> {
  return { method: 'GET', path: queryPath, query: selection(selector) }
}
