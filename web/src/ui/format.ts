// Formats numbers, times and user-defined texts. All functions are pure.

const NONE = '–'

const whole = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 0 })
const precise = new Intl.NumberFormat('en-GB', { maximumSignificantDigits: 6 })

/** Formats a number in full: 12,345. Fractions have at most six significant digits. */
export function num(n: number | null | undefined): string {
  if (n == null || Number.isNaN(n)) return NONE
  if (!Number.isFinite(n)) return n > 0 ? '∞' : '−∞'
  const text = Number.isInteger(n) ? whole.format(n) : precise.format(n)
  return text.replace('-', '−')
}

const STEPS: readonly [number, string][] = [
  [1e12, 'T'],
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
]

/** Formats a number with about three digits: 12.3k. Small ones keep their decimals: 0.042. */
export function compact(n: number | null | undefined): string {
  if (n == null || !Number.isFinite(n)) return num(n)
  const size = Math.abs(n)
  for (const [step, unit] of STEPS) {
    // 999.95 rounds to 1000, which belongs to the next unit.
    if (size >= step * 0.9995) return threeDigits(n / step) + unit
  }
  return size !== 0 && size < 0.001 ? n.toExponential(1).replace('-', '−') : threeDigits(n)
}

function threeDigits(n: number): string {
  const size = Math.abs(n)
  let digits = 0
  if (size !== 0 && size < 1) digits = 3
  else if (size < 9.995) digits = 2
  else if (size < 99.95) digits = 1
  const text = n.toFixed(digits)
  return (digits > 0 ? text.replace(/\.?0+$/, '') : text).replace('-', '−')
}

/** Formats bytes in powers of 1024: 1.5 MiB. */
export function bytes(n: number | null | undefined): string {
  if (n == null || !Number.isFinite(n)) return num(n)
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB']
  let i = 0
  let size = n
  while (Math.abs(size) >= 1023.5 && i < units.length - 1) {
    size /= 1024
    i++
  }
  return `${threeDigits(size)} ${units[i] ?? ''}`
}

/** Formats a duration in milliseconds: 420 µs, 12 ms, 3.2 s, 4 min 5 s, 2 h 3 min, 3 d 4 h. */
export function duration(ms: number | null | undefined): string {
  if (ms == null || !Number.isFinite(ms)) return num(ms)
  const size = Math.abs(ms)
  const sign = ms < 0 ? '−' : ''
  if (size === 0) return '0 s'
  if (size < 0.9995) return `${sign}${threeDigits(size * 1000)} µs`
  if (size < 999.5) return `${sign}${threeDigits(size)} ms`
  if (size < 59_950) return `${sign}${threeDigits(size / 1000)} s`
  const seconds = Math.round(size / 1000)
  const parts: [number, string][] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'min'],
    [seconds % 60, 's'],
  ]
  const first = parts.findIndex(([n]) => n > 0)
  const shown = parts.slice(first, first + 2).filter(([n]) => n > 0)
  return sign + shown.map(([n, unit]) => `${n} ${unit}`).join(' ')
}

/** Formats a time relative to now in one unit: 12 s ago, in 3 d. */
export function ago(at: Date, now: Date): string {
  const ms = now.getTime() - at.getTime()
  if (Number.isNaN(ms)) return NONE
  const size = Math.abs(ms)
  if (size < 2_000) return 'now'
  const text = coarse(size)
  return ms > 0 ? `${text} ago` : `in ${text}`
}

function coarse(ms: number): string {
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h`
  if (ms < 100 * 86_400_000) return `${Math.floor(ms / 86_400_000)} d`
  if (ms < 730 * 86_400_000) return `${Math.floor(ms / (30.44 * 86_400_000))} months`
  return `${Math.floor(ms / (365.25 * 86_400_000))} years`
}

const two = (n: number) => String(n).padStart(2, '0')

/** Formats date and time in the zone of the browser, to the second: 2026-11-21 07:40:08. */
export function stamp(at: Date): string {
  if (Number.isNaN(at.getTime())) return NONE
  return `${day(at)} ${clock(at)}`
}

/** Formats the date in the zone of the browser: 2026-11-21. */
export function day(at: Date): string {
  return `${String(at.getFullYear()).padStart(4, '0')}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
}

/** Formats the time of day in the zone of the browser: 07:40:08. */
export function clock(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** The maximum number of displayed characters of a user-defined text. */
export const SHOWN = 512

// Control characters, and characters that change the direction or are invisible: bidirectional overrides and isolates,
// zero-width characters, the byte order mark, line and paragraph separators, tags, and unpaired surrogates.
const INVISIBLE =
  // eslint-disable-next-line no-control-regex -- these are what it is about
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu

/**
 * Returns a user-defined text as one line of visible characters. An invisible character, or one that affects its
 * surroundings, becomes its code point in brackets (a control character its picture). Longer texts are truncated.
 */
export function visible(text: string, max: number = SHOWN): string {
  const cut = text.length > max ? `${text.slice(0, max)}…` : text
  return cut.replace(INVISIBLE, (c) => {
    const code = c.codePointAt(0) ?? 0
    if (code < 0x20) return String.fromCodePoint(0x2400 + code)
    if (code === 0x7f) return '\u2421'
    return `[U+${code.toString(16).toUpperCase().padStart(4, '0')}]`
  })
}

/** Returns the end of an id, which identifies it. The start of a UUIDv7 is the time. */
export function shortId(id: string): string {
  return id.length > 12 ? `…${id.slice(-8)}` : id
}

/** Returns a number with a singular or plural noun: plural(1, 'key') is "1 key". `text` formats the number. */
export function plural(n: number, one: string, many = `${one}s`, text: (n: number) => string = num): string {
  return `${text(n)} ${n === 1 ? one : many}`
}

/** Quotes a text as a word of a POSIX shell. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}

/** Joins class names and omits false values. */
export function cx(...names: (string | false | null | undefined)[]): string {
  return names.filter(Boolean).join(' ')
}

/** Returns the URL of an address that a browser can open safely; undefined if it is not one of the web. */
export function webUrl(address: string | null | undefined): URL | undefined {
  if (!address || !URL.canParse(address)) return undefined
  const url = new URL(address)
  return url.protocol === 'http:' || url.protocol === 'https:' ? url : undefined
}
