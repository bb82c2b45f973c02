import { describe, expect, it } from 'vitest'
import { allZones, instantOf, isZone, timeText, wallOf } from './zones'

const utc = (text: string) => Date.parse(text)

describe('wall clock times', () => {
  it('show an instant in the given zone', () => {
    expect(wallOf(utc('2026-07-01T12:00:00Z'), 'Europe/Berlin')).toBe('2026-07-01T14:00:00')
    expect(wallOf(utc('2026-01-01T12:00:00Z'), 'Asia/Kathmandu')).toBe('2026-01-01T17:45:00')
    expect(wallOf(utc('1969-12-31T23:59:59.500Z'), 'UTC')).toBe('1969-12-31T23:59:59')
  })

  it('are parsed in the given zone', () => {
    expect(instantOf('2026-07-01T14:00', 'Europe/Berlin')).toBe(utc('2026-07-01T12:00:00Z'))
    expect(instantOf('2026-07-01T14:00:05', 'UTC')).toBe(utc('2026-07-01T14:00:05Z'))
  })

  it('mean the first instant if they occur twice', () => {
    // Clocks go back from 03:00 to 02:00 at 01:00 UTC.
    expect(instantOf('2026-10-25T02:30', 'Europe/Berlin')).toBe(utc('2026-10-25T00:30:00Z'))
  })

  it('are shifted forward if they do not exist', () => {
    // Clocks go forward from 02:00 to 03:00 at 01:00 UTC.
    expect(instantOf('2026-03-29T02:30', 'Europe/Berlin')).toBe(utc('2026-03-29T01:30:00Z'))
  })

  it('are unchanged after a round trip, around clock changes and in many zones', () => {
    for (const zone of [
      'UTC',
      'Europe/Berlin',
      'America/St_Johns',
      'Australia/Lord_Howe',
      'Pacific/Kiritimati',
      'Pacific/Pago_Pago',
    ]) {
      for (let hour = 0; hour < 24 * 400; hour += 7) {
        const at = utc('2026-01-01T00:00:00Z') + hour * 3_600_000
        const wall = wallOf(at, zone)
        const back = instantOf(wall, zone)
        expect(back).toBeDefined()
        expect(wallOf(back ?? 0, zone)).toBe(wall)
      }
    }
  })

  it('are refused if they are invalid', () => {
    for (const text of ['', 'yesterday', '2026-13-01T00:00', '2026-01-01', '2026-01-01T25:00']) {
      expect(instantOf(text, 'UTC')).toBeUndefined()
    }
    expect(instantOf('2026-01-01T00:00', 'Mars/Olympus')).toBeUndefined()
  })
})

describe('zones', () => {
  it('are identified by their IANA names', () => {
    expect(isZone('Europe/Berlin')).toBe(true)
    expect(isZone('')).toBe(false)
    expect(isZone('Mars/Olympus')).toBe(false)
  })

  it('start with UTC and contain each name once', () => {
    const zones = allZones()
    expect(zones[0]).toBe('UTC')
    expect(new Set(zones).size).toBe(zones.length)
    expect(zones).toContain('Europe/Berlin')
  })
})

describe('times as text', () => {
  it('show fractional seconds only if there are any', () => {
    const second = Date.parse('2026-03-01T10:00:00Z') * 1000
    expect(timeText(second, 'UTC')).toBe('2026-03-01 10:00:00')
    expect(timeText(second + 250_000, 'UTC')).toBe('2026-03-01 10:00:00.250')
    expect(timeText(second + 250_001, 'UTC')).toBe('2026-03-01 10:00:00.250001')
  })
})
