import type { ReactNode } from 'react'

import { cx } from './format'
import { Sparkline } from './Sparkline'
import type { Tone } from './tone'

export interface StatProps {
  label: string
  value: ReactNode
  unit?: string
  /** An interpretation of the value, below it. */
  note?: ReactNode
  tone?: Tone
  /** Recent values, oldest first; null where there is no data. */
  trend?: readonly (number | null)[]
}

/** A figure with its name. */
export function Stat({ label, value, unit, note, tone = 'neutral', trend }: StatProps) {
  return (
    <div className="stat">
      <div className="stat-label">{label}</div>
      <div className={cx('stat-value', tone !== 'neutral' && `tone-${tone}`)}>
        {value}
        {unit && <span className="stat-unit">{unit}</span>}
      </div>
      {note && <div className="stat-note">{note}</div>}
      {trend && <Sparkline values={trend} tone={tone === 'neutral' ? 'accent' : tone} />}
    </div>
  )
}
