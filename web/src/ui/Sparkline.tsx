import type { Tone } from './tone'

/** The coordinate size of the paths. The drawing is scaled to its container. */
const WIDTH = 120
const HEIGHT = 28

/**
 * A small line without axes. It is hidden from screen readers, because the figure beside it carries the information.
 */
export function Sparkline({ values, tone = 'accent' }: { values: readonly (number | null)[]; tone?: Tone }) {
  const { line, area } = sparkPath(values, WIDTH, HEIGHT)
  return (
    <svg
      className={`spark tone-${tone}`}
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      preserveAspectRatio="none"
      aria-hidden="true"
    >
      <path className="spark-area" d={area} />
      <path className="spark-line" d={line} />
    </svg>
  )
}

/**
 * Returns the paths of a sparkline. The line breaks where values are null. The scale starts at zero, or at the lowest
 * value if it is negative.
 */
export function sparkPath(
  values: readonly (number | null)[],
  width: number,
  height: number,
): { line: string; area: string } {
  const known = values.filter((v): v is number => v !== null && Number.isFinite(v))
  const top = Math.max(...known, 0)
  const bottom = Math.min(...known, 0)
  const span = top - bottom || 1
  const pad = 1.5
  const x = (i: number) => round((i / Math.max(values.length - 1, 1)) * width)
  const y = (v: number) => round(height - pad - ((v - bottom) / span) * (height - 2 * pad))
  let line = ''
  let area = ''
  let from: number | null = null
  for (let i = 0; i <= values.length; i++) {
    const v = values[i]
    const drawn = v != null && Number.isFinite(v)
    if (drawn) {
      line += `${from === null ? 'M' : 'L'}${x(i)} ${y(v)}`
      area += from === null ? `M${x(i)} ${height}L${x(i)} ${y(v)}` : `L${x(i)} ${y(v)}`
      from ??= i
    } else if (from !== null) {
      area += `L${x(i - 1)} ${height}Z`
      from = null
    }
  }
  return { line, area }
}

const round = (n: number) => Math.round(n * 100) / 100
