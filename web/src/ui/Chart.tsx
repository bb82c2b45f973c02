import 'uplot/dist/uPlot.min.css'
import './chart.css'

import { useEffect, useMemo, useRef, useState } from 'react'
import uPlot from 'uplot'

import { clock, compact, cx, stamp, visible } from './format'
import { isolatedIndices } from './isolated'
import { yRange } from './range'
import { color, faded, seriesToken, useScheme } from './scheme'
import { Name } from './Values'

export interface ChartSeries {
  label: string
  /**
   * One value per time. Null breaks the line. Undefined means that the series has no row at this time, and the line is
   * drawn through.
   */
  values: readonly (number | null | undefined)[]
  /** A token such as `--bad`; by default the next of the palette. */
  token?: string
  /** A line, a line with an area below, or bars. */
  kind?: 'line' | 'area' | 'bars'
}

export interface ChartProps {
  /** The accessible name, read aloud with the last values. */
  label: string
  /** Unix seconds, ascending. */
  times: readonly number[]
  series: readonly ChartSeries[]
  height?: number
  /** The number format of the axis and the legend. */
  format?: (value: number) => string
  /** The visible range in Unix seconds; by default that of the times. */
  range?: readonly [number, number]
  /** The axis begins at zero. */
  fromZero?: boolean
  /** A range was selected with the mouse. */
  onSelect?: (from: number, to: number) => void
  /** Charts with the same name share their cursor. */
  sync?: string
  /** False hides the names and values below. */
  legend?: boolean
  /** The time zone of the axis; by default that of the browser. */
  zone?: string
}

/**
 * A time series chart on a canvas. Changed values are drawn at once; the chart is created again only when its series
 * change.
 */
export function Chart(props: ChartProps) {
  const { label, times, series, height = 200, format = compact, legend = true } = props
  const scheme = useScheme()
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set())
  const [at, setAt] = useState<number | null>(null)
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const latest = useRef(props)
  useEffect(() => {
    latest.current = props
  })

  const seriesKey = JSON.stringify([
    series.map((s) => [s.label, s.token, s.kind]),
    props.fromZero,
    props.sync,
    props.zone,
    Boolean(props.onSelect),
    height,
    scheme,
  ])
  useEffect(() => {
    const host = box.current
    if (!host) return
    const made = new uPlot(
      options(host, () => latest.current, setAt),
      dataOf(latest.current),
      host,
    )
    plot.current = made
    const resize = new ResizeObserver(() => {
      const width = Math.floor(host.clientWidth)
      if (width > 0 && width !== made.width) made.setSize({ width, height: latest.current.height ?? 200 })
    })
    resize.observe(host)
    return () => {
      resize.disconnect()
      made.destroy()
      plot.current = null
    }
  }, [seriesKey])

  useEffect(() => {
    plot.current?.setData(dataOf(latest.current))
  }, [times, series, props.range])
  useEffect(() => {
    const made = plot.current
    series.forEach((s, i) => {
      const show = !hidden.has(s.label)
      if (made?.series[i + 1] && made.series[i + 1]?.show !== show) made.setSeries(i + 1, { show })
    })
  }, [hidden, series, seriesKey])

  const shownIndex = at !== null && at < times.length ? at : null
  const values = series.map((s) => (shownIndex !== null ? valueAt(s.values, shownIndex) : lastOf(s.values)))
  const summary = useMemo(
    () =>
      series
        .slice(0, 8)
        .map((s) => `${visible(s.label, 60)}: ${format(lastOf(s.values) ?? NaN)}`)
        .join(', '),
    [series, format],
  )
  const toggle = (name: string) => {
    const next = new Set(hidden)
    if (!next.delete(name)) next.add(name)
    setHidden(next)
  }
  const time = times[shownIndex ?? times.length - 1]
  return (
    <figure className="chart">
      <div
        className="chart-plot"
        ref={box}
        role="img"
        aria-label={`${label}. ${summary}`}
        style={{ height }}
      />
      {legend && (
        <figcaption className="chart-legend">
          {series.map((s, i) => (
            <button
              key={`${i} ${s.label}`}
              type="button"
              className={cx('chart-key', hidden.has(s.label) && 'chart-key-off')}
              aria-pressed={!hidden.has(s.label)}
              onClick={() => toggle(s.label)}
            >
              <span
                className="chart-swatch"
                style={{ background: `var(${s.token ?? seriesToken(i)})` }}
                aria-hidden="true"
              />
              <Name text={s.label} max={80} />
              <b>{values[i] == null ? '–' : format(values[i])}</b>
            </button>
          ))}
          <span className="chart-time">
            {shownIndex !== null && time !== undefined ? stamp(inZone(time, props.zone)) : ''}
          </span>
        </figcaption>
      )}
    </figure>
  )
}

function lastOf(values: readonly (number | null | undefined)[]): number | null {
  for (let i = values.length - 1; i >= 0; i--) {
    const v = values[i]
    if (v != null) return v
  }
  return null
}

/** Returns the drawn value at an index: if the series has no row, that of the previous row. */
function valueAt(values: readonly (number | null | undefined)[], index: number): number | null {
  while (index > 0 && values[index] === undefined) index--
  return values[index] ?? null
}

function dataOf(p: ChartProps): uPlot.AlignedData {
  return [p.times as number[], ...p.series.map((s) => s.values as (number | null)[])]
}

const FONT = '11px system-ui, sans-serif'

function options(
  host: HTMLElement,
  latest: () => ChartProps,
  setAt: (at: number | null) => void,
): uPlot.Options {
  const p = latest()
  const text = color('--text-3', host)
  const grid = { stroke: faded(color('--line', host), 0.9), width: 1 }
  const format = (v: number) => (latest().format ?? compact)(v)
  return {
    width: Math.max(Math.floor(host.clientWidth), 60),
    // The ticks of the axis follow the zone: days begin at its midnight.
    tzDate: (seconds) => inZone(seconds, latest().zone),
    height: p.height ?? 200,
    legend: { show: false },
    padding: [8, 16, 0, 0],
    cursor: {
      points: { size: 7, width: 2 },
      drag: { x: Boolean(p.onSelect), y: false, setScale: false },
      ...(p.sync ? { sync: { key: p.sync } } : {}),
    },
    scales: {
      x: { time: true, range: (_u, min, max) => [...(latest().range ?? [min, max])] as [number, number] },
      y: { range: (_u, min, max) => yRange(min, max, Boolean(latest().fromZero)) },
    },
    axes: [
      {
        stroke: text,
        grid: { show: false },
        ticks: { ...grid, size: 4 },
        font: FONT,
        size: 28,
        space: 64,
        values: (_u, splits) => xLabels(splits, latest().zone),
      },
      {
        stroke: text,
        grid,
        ticks: { show: false },
        font: FONT,
        space: 36,
        values: (_u, splits) => splits.map((v) => format(v)),
        // It is called before there are values, whatever its type says.
        size: (_u, values: string[] | null) =>
          Math.max(36, ...(values ?? []).map((v) => v.length * 6.4 + 12)),
      },
    ],
    series: [{}, ...p.series.map((s, i) => lineOf(s, i, host))],
    hooks: {
      setCursor: [(u) => setAt(u.cursor.idx ?? null)],
      setSelect: [
        (u) => {
          if (u.select.width < 4) return
          latest().onSelect?.(u.posToVal(u.select.left, 'x'), u.posToVal(u.select.left + u.select.width, 'x'))
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

function lineOf(s: ChartSeries, i: number, host: HTMLElement): uPlot.Series {
  const stroke = color(s.token ?? seriesToken(i), host)
  const line: uPlot.Series = { label: s.label, stroke, width: 1.5, points: { show: false }, spanGaps: false }
  // A single value between gaps would not be visible as a line: it is drawn as a point.
  line.points = { show: false, filter: (u, si) => isolatedIndices(u.data[si] ?? []), size: 4, fill: stroke }
  if (s.kind === 'area') line.fill = faded(stroke, 0.12)
  if (s.kind === 'bars') {
    line.fill = faded(stroke, 0.7)
    line.width = 0
    const { bars } = uPlot.paths
    if (bars) line.paths = bars({ size: [0.7, 40] })
  }
  return line
}

/** Returns a date whose local time equals that of the zone. Only for formatting, not for arithmetic. */
function inZone(seconds: number, zone: string | undefined): Date {
  const at = new Date(seconds * 1000)
  return zone ? uPlot.tzDate(at, zone) : at
}

/** Formats the times of the axis, with a precision that depends on their distance. */
function xLabels(splits: number[], zone: string | undefined): string[] {
  const spacing = (splits[1] ?? 0) - (splits[0] ?? 0)
  return splits.map((s) => {
    const at = inZone(s, zone)
    if (spacing >= 86_400) return stamp(at).slice(5, 10)
    if (spacing >= 60)
      return at.getHours() === 0 && at.getMinutes() === 0 ? stamp(at).slice(5, 10) : clock(at).slice(0, 5)
    return clock(at)
  })
}
