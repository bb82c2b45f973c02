import { useState } from 'react'

import { useWorkspaceNames } from '@/app/workspace'
import {
  Button,
  compact,
  Confirm,
  Copyable,
  Dialog,
  duration,
  ErrorNotice,
  Facts,
  Name,
  Notice,
  num,
  plural,
  Progress,
  Skeleton,
  Table,
  Time,
  visible,
  type Column,
} from '@/ui'

import { useReplay, useReplayWrites } from './data'
import { ReplayBadge } from './badges'
import { isOver, percentText } from './replays'
import type { Replay, ReplayPartition } from './shapes'

/** The progress of a replay, with a button to cancel it. */
export function ReplayDetails({ id, onClose }: { id: string; onClose: () => void }) {
  const replay = useReplay(id)
  const { cancel } = useReplayWrites()
  const [confirming, setConfirming] = useState(false)
  const r = replay.data
  return (
    <>
      <Dialog
        open={!confirming}
        side
        size="l"
        onClose={onClose}
        title={r ? `Replay of ${r.topic}` : 'Replay'}
        lead={r && `requested by ${visible(r.requestedBy, 80)}`}
        footer={
          r &&
          !isOver(r.state) && (
            <Button variant="danger" disabled={r.cancelRequested} onClick={() => setConfirming(true)}>
              {r.cancelRequested ? 'Being cancelled' : 'Cancel the replay…'}
            </Button>
          )
        }
      >
        {replay.isPending && <Skeleton lines={8} />}
        {replay.isError && <ErrorNotice error={replay.error} onRetry={() => void replay.refetch()} />}
        {r && <ReplayBody replay={r} />}
      </Dialog>
      <Confirm
        open={confirming}
        danger
        title="Cancel this replay?"
        action="Cancel the replay"
        busy={cancel.isPending}
        error={cancel.error}
        onClose={() => setConfirming(false)}
        onConfirm={() => cancel.mutate(id, { onSuccess: () => setConfirming(false) })}
      >
        <p>Stored points remain. The rest can be replayed later, from where this one stopped.</p>
      </Confirm>
    </>
  )
}

const PARTITIONS: Column<ReplayPartition>[] = [
  { id: 'partition', head: 'Partition', primary: true, narrow: true, cell: (p) => <b>{p.partition}</b> },
  {
    id: 'progress',
    head: 'Progress',
    cell: (p) => (
      <span className="pipeline-bar">
        <Progress
          label={`Progress of partition ${p.partition}`}
          value={p.next - p.from}
          max={Math.max(p.to - p.from, 1)}
        />
      </span>
    ),
  },
  { id: 'next', head: 'Next', numeric: true, narrow: true, cell: (p) => num(p.next) },
  { id: 'from', head: 'From', numeric: true, narrow: true, wide: true, cell: (p) => num(p.from) },
  { id: 'to', head: 'To', numeric: true, narrow: true, cell: (p) => num(p.to) },
  {
    id: 'gone',
    head: 'Removed by retention',
    numeric: true,
    narrow: true,
    wide: true,
    cell: (p) => num(p.trimmed),
  },
]

function ReplayBody({ replay: r }: { replay: Replay }) {
  const nameOf = useWorkspaceNames([r.workspaceId])
  const owner = r.workspaceId && (nameOf(r.workspaceId) ?? r.workspaceId)
  return (
    <div className="stack">
      <div className="pipeline-big" role="status">
        <div className="row spread">
          <ReplayBadge state={r.state} cancelling={r.cancelRequested} />
          <b>{percentText(r)}</b>
        </div>
        <Progress label="Progress of the replay" value={r.recordsDone} max={Math.max(r.records, 1)} />
        <span className="muted">
          {num(r.recordsDone)} of {plural(r.records, 'record')}
          {r.etaSeconds !== null && ` · about ${duration(r.etaSeconds * 1000)} left`}
        </span>
      </div>
      {r.error !== null && (
        <Notice tone="warn" title="The replay failed">
          <p>{visible(r.error, 1000)}</p>
        </Notice>
      )}
      {r.notes.map((note) => (
        <Notice key={note}>
          <p>{visible(note, 600)}</p>
        </Notice>
      ))}
      <Facts
        items={[
          ['Rows stored', num(r.rows)],
          r.state === 'running' && [
            'Rate',
            `${compact(r.recordsPerSecond)} records/s, ${compact(r.rowsPerSecond)} rows/s`,
          ],
          ['Limit', r.maxRowsPerSecond === null ? 'none' : `${num(r.maxRowsPerSecond)} rows/s`],
          ['Skipped', r.refused > 0 ? plural(r.refused, 'record') : 'none'],
          ['Workspace', owner ? <Name key="workspace" text={owner} /> : 'all'],
          ['Requested', <Time key="created" at={r.createdAt} absolute />],
          r.startedAt !== null && ['Started', <Time key="started" at={r.startedAt} absolute />],
          r.finishedAt !== null && ['Ended', <Time key="finished" at={r.finishedAt} absolute />],
          r.runs > 1 && ['Worker starts', plural(r.runs, 'time')],
          ['Id', <Copyable key="id" text={r.id} label="Copy the id" />],
        ]}
      />
      <div className="pipeline-inset">
        <Table
          label="Partitions of the replay"
          columns={PARTITIONS}
          rows={r.partitions}
          rowKey={(p) => String(p.partition)}
        />
      </div>
    </div>
  )
}
