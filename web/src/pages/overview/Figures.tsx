import { compact, duration, plural, Stat } from '@/ui'

import { freshnessTone, lagTone, maxLag, waitingRecords, withGaps, type Sample, type Overview } from './model'

/** The number of samples of a sparkline. */
const TREND = 60

/** The key figures. */
export function Figures({ now, samples }: { now: Overview; samples: readonly Sample[] }) {
  const trend = (of: (m: Sample) => number | null) => withGaps(samples.slice(-TREND)).map(of)
  const { rates, freshness } = now
  const lag = maxLag(now) ?? 0
  const records = waitingRecords(now)
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
