/**
 * Local times and time zones. An instant is in milliseconds since the Unix epoch. A wall time is the local time of a
 * zone in the format of `<input type="datetime-local">`: `2026-03-29T01:30:00`.
 */

const formats = new Map<string, Intl.DateTimeFormat>()

function formatOf(zone: string): Intl.DateTimeFormat {
  let format = formats.get(zone)
  if (!format) {
    format = new Intl.DateTimeFormat('en-US', {
      timeZone: zone,
      calendar: 'gregory',
      numberingSystem: 'latn',
      hourCycle: 'h23',
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
    })
    formats.set(zone, format)
  }
  return format
}

/** Reports whether the browser supports a zone. */
export function isZone(name: string): boolean {
  if (name === '') return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** Returns the zone of the browser. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** Returns the names of all zones, UTC and the browser's first. */
export function allZones(): string[] {
  const first = ['UTC', browserZone()]
  return [...new Set([...first, ...Intl.supportedValuesOf('timeZone')])]
}

/** Returns the local time of a zone as the milliseconds of the same wall time in UTC. */
function clockOf(ms: number, zone: string): number {
  const parts = new Map(
    formatOf(zone)
      .formatToParts(ms)
      .map((part) => [part.type, Number(part.value)]),
  )
  const of = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0
  return Date.UTC(
    of('year'),
    of('month') - 1,
    of('day'),
    of('hour'),
    of('minute'),
    of('second'),
    ((ms % 1000) + 1000) % 1000,
  )
}

/** Returns the wall time of a zone to the second. */
export function wallOf(ms: number, zone: string): string {
  return new Date(clockOf(Math.floor(ms / 1000) * 1000, zone)).toISOString().slice(0, 19)
}

/**
 * Returns the instant of a wall time in a zone; undefined if the text is invalid. A wall time that occurs twice, when
 * clocks go back, is the first one; one that is skipped, when clocks go forward, is moved forward by the change.
 */
export function instantOf(wall: string, zone: string): number | undefined {
  if (!/^\d{4,6}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?$/.test(wall) || !isZone(zone)) return undefined
  const asUTC = Date.parse(wall + 'Z')
  if (Number.isNaN(asUTC)) return undefined
  const offset = (ms: number) => clockOf(ms, zone) - ms
  // No zone is further than a day from UTC, and none changes twice in two days.
  const before = asUTC - offset(asUTC - 86_400_000)
  const after = asUTC - offset(asUTC + 86_400_000)
  const hits = [before, after].filter((ms) => clockOf(ms, zone) === asUTC)
  return hits.length > 0 ? Math.min(...hits) : Math.max(before, after)
}

/** Returns a time in a zone as text, with fractions of a second down to microseconds. */
export function timeText(us: number, zone: string): string {
  const ms = Math.floor(us / 1000)
  const rest = ((us % 1_000_000) + 1_000_000) % 1_000_000
  const wall = wallOf(ms, zone).replace('T', ' ')
  if (rest === 0) return wall
  const digits = rest.toString().padStart(6, '0')
  return `${wall}.${digits.endsWith('000') ? digits.slice(0, 3) : digits}`
}
