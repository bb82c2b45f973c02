import './overview.css'

import { useWorkspaces } from '@/app/workspace'
import { Badge, duration, ErrorNotice, Page, Skeleton, Tooltip } from '@/ui'
import type { StreamState } from '@/api'

import { Charts } from './Charts'
import { FirstSteps } from './FirstSteps'
import { Details, Health, Problems } from './Health'
import { Figures } from './Figures'
import { withoutSources } from './model'
import { useOverview } from './useOverview'

export default function OverviewPage() {
  const { now, samples, stream, error, reload } = useOverview()
  const { workspaces, total, loading } = useWorkspaces()
  const empty = !loading && withoutSources(workspaces, total)
  return (
    <Page
      title="Overview"
      lead={
        now
          ? `Livegraph ${now.version}, up for ${duration(Math.round(now.uptimeSeconds) * 1000)}`
          : 'State of the service, updated every second'
      }
      actions={<LiveBadge stream={stream} />}
    >
      {Boolean(error) && !now && <ErrorNotice error={error} onRetry={reload} />}
      {!error && !now && <Waiting />}
      {empty && now && <FirstSteps />}
      {now && (
        <>
          <Problems now={now} />
          <Figures now={now} samples={samples} />
          <div className="overview-main">
            <Charts samples={samples} />
            <Health now={now} />
          </div>
          <Details now={now} />
        </>
      )}
    </Page>
  )
}

/** Shows whether the data is current. */
function LiveBadge({ stream }: { stream: StreamState }) {
  if (stream.status === 'open') {
    return (
      <Badge tone="ok" dot>
        Live
      </Badge>
    )
  }
  if (stream.status === 'connecting') return <Badge dot>Connecting</Badge>
  return (
    <Tooltip text={stream.error.message}>
      {/* Focusable, so that the reason can be read by keyboard. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <span tabIndex={0} role="status">
        <Badge tone={stream.status === 'failed' ? 'bad' : 'warn'} dot>
          {stream.status === 'failed' ? 'Disconnected' : 'Reconnecting'}
        </Badge>
      </span>
    </Tooltip>
  )
}

function Waiting() {
  return (
    <>
      <div className="overview-figures">
        {Array.from({ length: 6 }, (_, i) => (
          <div key={i} className="panel overview-figure">
            <Skeleton lines={2} />
          </div>
        ))}
      </div>
      <div className="grid-2">
        <div className="panel overview-figure">
          <Skeleton height={240} />
        </div>
        <div className="panel overview-figure">
          <Skeleton height={240} />
        </div>
      </div>
    </>
  )
}
