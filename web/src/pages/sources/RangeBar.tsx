import { ChevronLeft, ChevronRight, RotateCw, ZoomOut } from 'lucide-react'
import { useState } from 'react'

import { Button, Field, IconButton, Input, Select } from '@/ui'
import { durationMs, SPANS } from '@/ui/spans'

import { bounds, type Explore, shift, widen } from './query'
import { instantOf, wallOf } from './zones'

interface RangeBarProps {
  explore: Explore
  /** The refresh interval; empty for no refresh. */
  every: string
  onEvery: (every: string) => void
  busy: boolean
  onChange: (next: Partial<Explore>, push?: boolean) => void
  onReload: () => void
}

const REFRESH_INTERVALS = [
  { value: '', label: 'Refresh: off' },
  { value: '2s', label: 'Every 2 s' },
  { value: '10s', label: 'Every 10 s' },
  { value: '1m', label: 'Every minute' },
]

/** The time range: relative to now, or from one time to another. */
export function RangeBar({ explore, every, onEvery, busy, onChange, onReload }: RangeBarProps) {
  const { range } = explore
  const relative = 'last' in range
  const latest = explore.mode === 'latest'
  const move = (by: number) => onChange({ range: shift(range, by, Date.now()), offset: explore.offset })
  return (
    <div className="sources-range">
      <Field label="Range" hideLabel>
        <Select
          disabled={latest}
          value={relative ? range.last : 'exact'}
          onChange={(e) => {
            const last = e.target.value
            onChange(
              { range: last === 'exact' ? bounds(range, Date.now()) : { last }, offset: explore.offset },
              true,
            )
          }}
        >
          {SPANS.map((span) => (
            <option key={span.last} value={span.last}>
              Last {span.label}
            </option>
          ))}
          {relative && !SPANS.some((span) => span.last === range.last) && (
            <option value={range.last}>Last {range.last}</option>
          )}
          <option value="exact">Exact times</option>
        </Select>
      </Field>
      {!relative && !latest && (
        <ExactRange
          key={`${range.from}-${range.to}-${explore.zone}`}
          range={range}
          zone={explore.zone}
          onChange={(next) => onChange({ range: next, offset: explore.offset }, true)}
        />
      )}
      <span className="row sources-range-moves">
        <IconButton label="Shift back by half" variant="default" disabled={latest} onClick={() => move(-0.5)}>
          <ChevronLeft size={16} />
        </IconButton>
        <IconButton
          label="Shift forward by half"
          variant="default"
          disabled={latest || relative}
          onClick={() => move(0.5)}
        >
          <ChevronRight size={16} />
        </IconButton>
        <IconButton
          label="Double the range"
          variant="default"
          disabled={latest}
          onClick={() => onChange({ range: doubled(explore), offset: explore.offset }, true)}
        >
          <ZoomOut size={16} />
        </IconButton>
      </span>
      <span className="row sources-range-again">
        <Select
          aria-label="Refresh"
          value={every}
          onChange={(e) => onEvery(e.target.value)}
          options={REFRESH_INTERVALS}
        />
        <Button icon={<RotateCw size={14} />} busy={busy && every === ''} onClick={onReload}>
          Run
        </Button>
      </span>
    </div>
  )
}

/** Returns a range of double length. A range that ends now stays relative. */
function doubled({ range }: Explore): Explore['range'] {
  if (!('last' in range)) return widen(range, 2, Date.now())
  const ms = (durationMs(range.last) ?? 3_600_000) * 2
  const next = SPANS.find((span) => (durationMs(span.last) ?? 0) >= ms)
  return { last: next?.last ?? SPANS.at(-1)?.last ?? range.last }
}

interface ExactRangeProps {
  range: { from: number; to: number }
  zone: string
  onChange: (range: { from: number; to: number }) => void
}

/** Start and end in the zone. Typed values apply when both are valid. */
function ExactRange({ range, zone, onChange }: ExactRangeProps) {
  const [from, setFrom] = useState(() => wallOf(range.from, zone))
  const [to, setTo] = useState(() => wallOf(range.to, zone))
  const [a, b] = [instantOf(from, zone), instantOf(to, zone)]
  const wrong =
    a === undefined || b === undefined
      ? 'Enter two dates with a time.'
      : a >= b
        ? 'The end must be after the start.'
        : undefined
  const apply = () => {
    const same = from === wallOf(range.from, zone) && to === wallOf(range.to, zone)
    if (!wrong && !same && a !== undefined && b !== undefined) onChange({ from: a, to: b })
  }
  return (
    <form
      className="sources-exact"
      onSubmit={(e) => {
        e.preventDefault()
        apply()
      }}
    >
      <Field label="From" hideLabel error={wrong}>
        <Input
          type="datetime-local"
          step={1}
          value={from}
          onChange={(e) => setFrom(e.target.value)}
          onBlur={apply}
        />
      </Field>
      <span className="muted" aria-hidden="true">
        –
      </span>
      <Field label="To, not included" hideLabel>
        <Input
          type="datetime-local"
          step={1}
          value={to}
          onChange={(e) => setTo(e.target.value)}
          onBlur={apply}
        />
      </Field>
      <button type="submit" hidden />
    </form>
  )
}
