// Times of documents: a year, a month, a day or a time, in UTC unless an offset is given.

const TIME =
  /^(\d{4})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?)?)?$/i

/** Returns the RFC 3339 form of a typed time; undefined if it is not a time. */
export function timeOf(typed: string): string | undefined {
  const match = TIME.exec(typed.trim())
  if (!match) return undefined
  const [, year = '', month = '01', day = '01', hour = '00', minute = '00', second = '00'] = match
  const [fraction = '', offset = 'Z'] = [match[7], match[8]?.toUpperCase()]
  const clock = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  // Browsers accept a day such as 30 February as one of March.
  if (Number.isNaN(clock.getTime()) || clock.getUTCDate() !== Number(day) || hour === '24') return undefined
  const time = `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${offset}`
  return Number.isNaN(Date.parse(time)) ? undefined : time
}

/** Returns what is wrong with a range of times. The end is exclusive. */
export function rangeErrors(from: string, to: string): { from?: string; to?: string } {
  const errors: { from?: string; to?: string } = {}
  const [start, end] = [timeOf(from), timeOf(to)]
  if (from !== '' && start === undefined) errors.from = EXPECTED
  if (to !== '' && end === undefined) errors.to = EXPECTED
  if (start !== undefined && end !== undefined && Date.parse(start) >= Date.parse(end))
    errors.to = 'It must be after the start.'
  return errors
}

const EXPECTED = 'Enter a date or a time, such as 2026-11-21 or 2026-11-21T07:40Z.'

/** Returns the range of a day, month or year, as a facet has it; undefined if it is none of these. */
export function rangeOf(value: string): { from: string; to: string } | undefined {
  const match = /^(\d{4})(?:-(\d\d))?(?:-(\d\d))?$/.exec(value)
  if (!match || timeOf(value) === undefined) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2] ?? 1), Number(match[3] ?? 1)]
  const next = new Date(0)
  next.setUTCFullYear(
    match[2] === undefined ? year + 1 : year,
    match[2] !== undefined && match[3] === undefined ? month : month - 1,
    match[3] === undefined ? day : day + 1,
  )
  const to = next.toISOString().slice(0, value.length)
  return { from: value, to: timeOf(to) === undefined ? '' : to } // after the year 9999 is no time
}

/** Reports whether two typed times are the same instant. */
export function sameTime(a: string, b: string): boolean {
  const [first, second] = [timeOf(a), timeOf(b)]
  return first !== undefined && second !== undefined && Date.parse(first) === Date.parse(second)
}
