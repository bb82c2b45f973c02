import { compact, duration, plural, Stat } from '@/ui'

import { freshnessTone, lagTone, slowest, waiting, withGaps, type Moment, type Overview } from './model'

/** How many moments a small line shows. */
const TREND = 60

/** The figures that say how it is going. */
export function Figures({ now, moments }: { now: Overview; moments: readonly Moment[] }) {
  const trend = (of: (m: Moment) => number | null) => withGaps(moments.slice(-TREND)).map(of)
  const { rates, freshness } = now
  const lag = slowest(now) ?? 0
  const records = waiting(now)
  const errors = now.requests.find((r) => r.status === '5xx')?.perSecond ?? 0
  const refused = now.requests.find((r) => r.status === '4xx')?.perSecond ?? 0
  return (
    <div className="overview-figures">
      <Figure>
        <Stat
          label="Points accepted"
          value={compact(rates.pointsAccepted)}
          unit="/s"
          trend={trend((m) => m.accepted)}
          note={rates.pointsRejected > 0 ? `${compact(rates.pointsRejected)}/s rejected` : 'none rejected'}
        />
      </Figure>
      <Figure>
        <Stat
          label="Points visible"
          value={rates.pointsVisible === null ? '–' : compact(rates.pointsVisible)}
          unit="/s"
          trend={trend((m) => m.visible)}
          note={rates.pointsVisible === null ? 'in another process' : 'found by queries'}
        />
      </Figure>
      <Figure>
        <Stat
          label="Freshness, p95"
          value={freshness ? duration(freshness.p95Seconds * 1000) : '–'}
          tone={freshness ? freshnessTone(freshness.p95Seconds) : 'neutral'}
          trend={trend((m) => m.p95)}
          note={freshness ? `median ${duration(freshness.p50Seconds * 1000)}` : 'no recent points'}
        />
      </Figure>
      <Figure>
        <Stat
          label="Lag"
          value={duration(Math.round(lag * 10) * 100)}
          tone={lagTone(lag)}
          trend={trend((m) => m.lag)}
          note={records === 0 ? 'no records wait' : plural(records, 'record waits', 'records wait', compact)}
        />
      </Figure>
      <Figure>
        <Stat
          label="Requests"
          value={compact(rates.requests)}
          unit="/s"
          trend={trend((m) => m.requests)}
          note={refused > 0 ? `${compact(refused)}/s refused (4xx)` : 'none refused'}
        />
      </Figure>
      <Figure>
        <Stat
          label="Failures (5xx)"
          value={compact(errors)}
          unit="/s"
          tone={errors > 0 ? 'bad' : 'neutral'}
          trend={trend((m) => m.errors)}
          note={errors > 0 ? 'see the log' : 'none'}
        />
      </Figure>
    </div>
  )
}

const Figure = ({ children }: { children: React.ReactNode }) => (
  <div className="panel overview-figure">{children}</div>
)
