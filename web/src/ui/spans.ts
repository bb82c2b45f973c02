// Time spans as the API writes them, and their labels after "last".

/** A number with a unit, such as 15m. */
export interface Span {
  last: string
  label: string
}

export const SPANS: readonly Span[] = [
  { last: '5m', label: '5 minutes' },
  { last: '15m', label: '15 minutes' },
  { last: '1h', label: 'hour' },
  { last: '6h', label: '6 hours' },
  { last: '1d', label: 'day' },
  { last: '7d', label: '7 days' },
  { last: '30d', label: '30 days' },
  { last: '90d', label: '90 days' },
  { last: '365d', label: 'year' },
]

const UNITS: Record<string, number> = {
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
}

/** Returns the length of a span such as 15m in milliseconds; undefined if it is invalid. */
export function durationMs(text: string, units = 'smhdw'): number | undefined {
  const match = /^([0-9]{1,9})([a-z])$/.exec(text)
  const unit = match?.[2] ?? ''
  if (!match || !units.includes(unit)) return undefined
  const ms = Number(match[1]) * (UNITS[unit] ?? NaN)
  return ms > 0 ? ms : undefined
}
