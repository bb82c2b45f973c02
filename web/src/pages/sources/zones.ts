/**
 * Wall clocks and time zones. A time is milliseconds since the Unix epoch; a wall
 * time is what the clock of a zone shows, as an `<input type="datetime-local">`
 * has it: `2026-03-29T01:30:00`.
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

/** Reports whether the browser knows a zone of this name. */
export function isZone(name: string): boolean {
  if (name === '') return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** The zone that the browser is set to. */
export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC'
}

/** The names of all zones that can be chosen, UTC and the browser's first. */
export function allZones(): string[] {
  const first = ['UTC', browserZone()]
  return [...new Set([...first, ...Intl.supportedValuesOf('timeZone')])]
}

/** The wall clock of a zone at a time, as milliseconds of a clock that is in UTC. */
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

/** What the clock of a zone shows at a time, to the second. */
export function wallOf(ms: number, zone: string): string {
  return new Date(clockOf(Math.floor(ms / 1000) * 1000, zone)).toISOString().slice(0, 19)
}

/**
 * The time at which the clock of a zone shows a wall time; undefined if the text is
 * none. Where clocks are put back and show it twice, it is the first time; where
 * they are put forward and never show it, it is as far behind the change.
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

/** A time as text in a zone, with as much of the second as there is: microseconds. */
export function timeText(us: number, zone: string): string {
  const ms = Math.floor(us / 1000)
  const rest = ((us % 1_000_000) + 1_000_000) % 1_000_000
  const wall = wallOf(ms, zone).replace('T', ' ')
  if (rest === 0) return wall
  const digits = rest.toString().padStart(6, '0')
  return `${wall}.${digits.endsWith('000') ? digits.slice(0, 3) : digits}`
}
