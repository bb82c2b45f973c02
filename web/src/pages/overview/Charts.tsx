import { compact, duration, Panel } from '@/ui'
import { Chart } from '@/ui/Chart'

import { shownSpan, withGaps, type Sample } from './model'

const perSecond = (v: number) => `${compact(v)}/s`
const seconds = (v: number) => duration(v * 1000)
/** Lags are measured to a tenth of a second. */
const tenths = (v: number) => duration(Math.round(v * 10) * 100)

/** Charts of the last ten minutes. */
export function Charts({ samples: known }: { samples: readonly Sample[] }) {
  const samples = withGaps(known)
  const times = samples.map((m) => m.at)
  const end = times.at(-1) ?? 0
  const range: readonly [number, number] = [end - shownSpan(samples), end]
  const of = (value: (m: Sample) => number | null) => samples.map(value)
  const common = { times, range, height: 168, fromZero: true, sync: 'overview' } as const
  return (
    <div className="overview-charts">
      <Panel title="Points" note="a second">
        <Chart
          {...common}
          label="Points a second in the last ten minutes"
          format={perSecond}
          series={[
            { label: 'Accepted', values: of((m) => m.accepted), kind: 'area' },
            { label: 'Visible', values: of((m) => m.visible), token: '--series-2' },
          ]}
        />
      </Panel>
      <Panel title="Requests" note="a second">
        <Chart
          {...common}
          label="Requests a second in the last ten minutes"
          format={perSecond}
          series={[
            { label: 'All', values: of((m) => m.requests), kind: 'area' },
            { label: 'Failed (5xx)', values: of((m) => m.errors), token: '--bad' },
          ]}
        />
      </Panel>
      <Panel title="Freshness" note="time until points are visible">
        <Chart
          {...common}
          label="Freshness of points in the last ten minutes"
          format={seconds}
          series={[
            { label: 'p95', values: of((m) => m.p95), token: '--series-3', kind: 'area' },
            { label: 'p50', values: of((m) => m.p50), token: '--series-2' },
          ]}
        />
      </Panel>
      <Panel title="Lag" note="age of the oldest unread record">
        <Chart
          {...common}
          label="Lag in the last ten minutes"
          format={tenths}
          series={[
            { label: 'Slowest consumer', values: of((m) => m.lag), token: '--series-4', kind: 'area' },
          ]}
        />
      </Panel>
    </div>
  )
}
