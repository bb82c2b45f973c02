import { History, Plus } from 'lucide-react'
import { useState } from 'react'
import { useLocation, useNavigate } from 'react-router'

import { useCommands } from '@/app/commands'
import { useWorkspaces } from '@/app/workspace'
import { Button, Empty, ErrorNotice, Name, Num, Pager, Panel, Progress, Table, Time, type Column } from '@/ui'

import { ReplayBadge } from './badges'
import { useReplays } from './data'
import { ReplayDialog } from './ReplayDialog'
import { ReplayDetails } from './ReplayDetails'
import { percentText } from './replays'
import type { Replay } from './shapes'

/** The list of replays. */
export function Replays() {
  const [offset, setOffset] = useState(0)
  const replays = useReplays(offset)
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const [planning, setPlanning] = useState(false)
  const open = pathname.split('/')[3]
  useCommands([{ id: 'replay', name: 'Start a replay', group: 'Pipeline', run: () => setPlanning(true) }])
  const show = (id: string) => void navigate(`/pipeline/replays/${id}`)
  return (
    <div className="stack">
      <div className="row spread">
        <p className="muted">
          A replay reads a part of the log again and stores its points, in parallel with the live consumer. It
          does not change correct data.
        </p>
        <Button variant="primary" icon={<Plus size={16} />} onClick={() => setPlanning(true)}>
          Start a replay
        </Button>
      </div>
      {replays.isError && <ErrorNotice error={replays.error} onRetry={() => void replays.refetch()} />}
      {!(replays.isError && !replays.data) && (
        <Panel flush>
          <ReplayTable
            list={replays.data?.data}
            loading={replays.isPending}
            stale={replays.isPlaceholderData}
            selected={open ?? null}
            onOpen={show}
            onAsk={() => setPlanning(true)}
          />
          {replays.data && replays.data.meta.total > 0 && (
            <Pager meta={replays.data.meta} onOffset={setOffset} what="replays" />
          )}
        </Panel>
      )}
      {planning && (
        <ReplayDialog
          onClose={() => setPlanning(false)}
          onStarted={(replay) => {
            setPlanning(false)
            show(replay.id)
          }}
        />
      )}
      {open !== undefined && open !== '' && (
        <ReplayDetails id={open} onClose={() => void navigate('/pipeline/replays')} />
      )}
    </div>
  )
}

interface ReplayTableProps {
  list: Replay[] | undefined
  loading: boolean
  stale: boolean
  selected: string | null
  onOpen: (id: string) => void
  onAsk: () => void
}

function ReplayTable({ list, loading, stale, selected, onOpen, onAsk }: ReplayTableProps) {
  const { workspaces } = useWorkspaces()
  const columns: Column<Replay>[] = [
    {
      id: 'state',
      head: 'State',
      narrow: true,
      cell: (r) => <ReplayBadge state={r.state} cancelling={r.cancelRequested} />,
    },
    {
      id: 'progress',
      head: 'Progress',
      primary: true,
      cell: (r) => (
        <span className="pipeline-progress">
          <Progress
            label={`Progress of the replay of ${r.topic}`}
            value={r.recordsDone}
            max={Math.max(r.records, 1)}
          />
          <span className="nowrap">{percentText(r)}</span>
        </span>
      ),
    },
    { id: 'topic', head: 'Topic', narrow: true, cell: (r) => <code>{r.topic}</code> },
    { id: 'records', head: 'Records', numeric: true, narrow: true, cell: (r) => <Num n={r.records} short /> },
    {
      id: 'rows',
      head: 'Rows stored',
      numeric: true,
      narrow: true,
      wide: true,
      cell: (r) => <Num n={r.rows} short />,
    },
    {
      id: 'workspace',
      head: 'Workspace',
      wide: true,
      cell: (r) =>
        r.workspaceId ? (
          <Name text={workspaces.find((item) => item.id === r.workspaceId)?.name ?? r.workspaceId} max={40} />
        ) : (
          <span className="muted">all</span>
        ),
    },
    { id: 'by', head: 'By', wide: true, cell: (r) => <Name text={r.requestedBy} max={40} /> },
    { id: 'created', head: 'Requested', narrow: true, cell: (r) => <Time at={r.createdAt} /> },
  ]
  return (
    <Table
      label="Replays"
      columns={columns}
      rows={list}
      loading={loading}
      stale={stale}
      rowKey={(r) => r.id}
      selected={selected}
      onOpen={(r) => onOpen(r.id)}
      empty={
        <Empty
          icon={<History size={20} />}
          title="No replays yet"
          actions={<Button onClick={onAsk}>Start a replay</Button>}
        >
          <p>
            If the store has lost points, replay them while the log still has them. The first step only shows
            a plan.
          </p>
        </Empty>
      }
    />
  )
}
