// The search indexes: the progress of each workspace, the model, and re-indexing.

import './indexes.css'

import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { DatabaseZap, RefreshCw } from 'lucide-react'
import { useState } from 'react'

import { api } from '@/api'
import {
  Badge,
  Button,
  ButtonLink,
  Confirm,
  duration,
  Empty,
  ErrorNotice,
  Facts,
  Name,
  Notice,
  Num,
  num,
  Page,
  Pager,
  Panel,
  plural,
  Progress,
  Skeleton,
  Stat,
  Table,
  Time,
  useToast,
  visible,
  type Column,
} from '@/ui'

import type { Installed, Reindex, SearchIndex, WorkspaceIndex } from './types'
import {
  buildingOf,
  causeText,
  indexedShare,
  lastText,
  liveOf,
  progressText,
  statusText,
  TONES,
  isRebuilding,
} from './descriptions'

const KEY = ['indexes'] as const
/** Poll intervals in milliseconds while an index is being built and otherwise. */
const BUSY_POLL_MS = 1_500
const IDLE_POLL_MS = 5_000
const PAGE = 50

export default function IndexesPage() {
  const [offset, setOffset] = useState(0)
  const [confirming, setConfirming] = useState(false)
  const installed = useQuery({
    queryKey: [...KEY, 'installed'],
    queryFn: ({ signal }) => api.get<Installed>('/indexes/reindex', { signal }),
    refetchInterval: (query) =>
      query.state.data && isRebuilding(query.state.data) ? BUSY_POLL_MS : IDLE_POLL_MS,
  })
  const busy = installed.data ? isRebuilding(installed.data) : false
  const list = useQuery({
    queryKey: [...KEY, 'workspaces', offset],
    queryFn: ({ signal }) => api.list<WorkspaceIndex>('/indexes', { query: { limit: PAGE, offset }, signal }),
    refetchInterval: busy ? BUSY_POLL_MS : IDLE_POLL_MS,
    placeholderData: (before) => before,
  })
  const degraded = list.data?.data.filter((item) => item.status === 'degraded') ?? []
  return (
    <Page
      title="Indexes"
      lead="The vector index for search by meaning. Search by words and by the graph reads Postgres."
      actions={
        <Button
          variant="primary"
          icon={<RefreshCw size={16} />}
          disabled={!installed.data || busy}
          onClick={() => setConfirming(true)}
        >
          {busy ? 'Rebuilding' : 'Re-index'}
        </Button>
      }
    >
      {installed.error && <ErrorNotice error={installed.error} onRetry={() => void installed.refetch()} />}
      {degraded.length > 0 && <Degraded workspaces={degraded} />}
      {installed.data ? (
        <IndexSummary installed={installed.data} list={list.data?.data ?? []} />
      ) : (
        <Skeleton lines={3} />
      )}
      <Panel title="Workspaces" flush>
        {list.error ? (
          <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Table
            label="Indexes by workspace"
            columns={COLUMNS}
            rows={list.data?.data}
            rowKey={(row) => row.workspace.id}
            loading={list.isPending}
            stale={list.isPlaceholderData}
            empty={
              <Empty
                icon={<DatabaseZap size={20} />}
                title="No workspace yet"
                actions={
                  <ButtonLink to="/workspaces" variant="primary">
                    New workspace
                  </ButtonLink>
                }
              >
                <p>The nodes of each workspace are indexed when they are written.</p>
              </Empty>
            }
          />
        )}
      </Panel>
      {list.data && list.data.meta.total > PAGE && (
        <Pager meta={list.data.meta} onOffset={setOffset} what="workspaces" />
      )}
      <IndexHelp />
      <ReindexDialog open={confirming} installed={installed.data} onClose={() => setConfirming(false)} />
    </Page>
  )
}

const COLUMNS: readonly Column<WorkspaceIndex>[] = [
  {
    id: 'workspace',
    head: 'Workspace',
    primary: true,
    cell: (row) => <Name text={row.workspace.name} strong />,
  },
  {
    id: 'status',
    head: 'Status',
    cell: (row) => (
      <div className="indexes-status">
        <Badge tone={TONES[row.status]} dot>
          {row.status}
        </Badge>
        <span className="muted">{statusText(row)}</span>
      </div>
    ),
  },
  {
    id: 'nodes',
    head: 'Indexed',
    cell: (row) => {
      const share = indexedShare(row)
      return share === null ? (
        <span className="muted">no nodes</span>
      ) : (
        <div className="indexes-share">
          <Progress
            label={`Indexed of ${visible(row.workspace.name, 60)}`}
            value={row.nodes.indexed}
            max={row.nodes.total}
          />
          <span>
            {num(row.nodes.indexed)} of {num(row.nodes.total)}
          </span>
        </div>
      )
    },
  },
  {
    id: 'lag',
    head: 'Behind',
    numeric: true,
    cell: (row) =>
      row.lag.events === 0 ? '–' : `${num(row.lag.events)} · ${duration(row.lag.seconds * 1000)}`,
  },
  {
    id: 'last',
    head: 'Last indexed',
    wide: true,
    cell: (row) => <Time at={row.lastIndexedAt} none="never" />,
  },
]

function IndexSummary({ installed, list }: { installed: Installed; list: readonly WorkspaceIndex[] }) {
  const live = liveOf(installed)
  const building = buildingOf(installed)
  const pending = list.reduce((sum, item) => sum + item.nodes.pending, 0)
  return (
    <>
      <div className="indexes-stats">
        <Panel>
          <Stat
            label="Model in use"
            value={live ? <Name text={live.model.name} /> : 'none'}
            note={
              live
                ? plural(live.model.dimensions, 'dimension')
                : 'Plain search is unavailable until an index exists.'
            }
            tone={live ? 'neutral' : 'bad'}
          />
        </Panel>
        <Panel>
          <Stat label="Nodes in the index" value={<Num n={live?.done ?? 0} />} note="of all workspaces" />
        </Panel>
        <Panel>
          <Stat
            label="Not indexed yet"
            value={<Num n={pending} />}
            tone={pending > 0 ? 'warn' : 'ok'}
            note={pending > 0 ? 'of the workspaces below' : 'everything is indexed'}
          />
        </Panel>
      </div>
      {building && <BuildProgress index={building} />}
      {installed.last && <LastReindex last={installed.last} live={live} />}
    </>
  )
}

function BuildProgress({ index }: { index: SearchIndex }) {
  return (
    <Panel title="A new index is being built">
      <div className="stack" aria-live="polite">
        <Progress label="Indexed nodes" value={index.done} max={index.total} />
        <p>
          {progressText(index)} · <Name text={index.model.name} />,{' '}
          {plural(index.model.dimensions, 'dimension')}
        </p>
        <p className="muted">{causeText(index.cause)} New nodes are found as usual.</p>
      </div>
    </Panel>
  )
}

function LastReindex({ last, live }: { last: Reindex; live: SearchIndex | null }) {
  return (
    <Panel title="Last request">
      <Facts
        items={[
          ['State', lastText(last)],
          ['By', <Name key="by" text={last.requestedBy} />],
          ['Requested', <Time key="asked" at={last.requestedAt} />],
          last.finishedAt !== null && ['Finished', <Time key="finished" at={last.finishedAt} />],
          live?.switchedAt != null && ['In use since', <Time key="since" at={live.switchedAt} />],
        ]}
      />
    </Panel>
  )
}

function Degraded({ workspaces }: { workspaces: readonly WorkspaceIndex[] }) {
  const [first, ...others] = workspaces
  if (!first) return null
  return (
    <Notice
      tone="warn"
      title={`Search by meaning is degraded in ${visible(first.workspace.name, 60)}${others.length > 0 ? ` and ${num(others.length)} more` : ''}`}
    >
      <p>
        {statusText(first)} Plain search returns 503 if it cannot search; hybrid search uses words and the
        graph, and reports it. See <b>Overview</b> for the state of Milvus and the embedder, and{' '}
        <b>Pipeline</b> for the lag of the group “embeddings”. Changes are indexed when they are back; no
        action is needed.
      </p>
    </Notice>
  )
}

function IndexHelp() {
  return (
    <Panel title="States">
      <Facts
        items={[
          ['ready', 'Search by meaning finds nodes about a second after they are written.'],
          ['indexing', 'Some changes are not indexed yet. Search by words finds them.'],
          [
            'degraded',
            'The index cannot be read or written: Milvus or the embedder is unavailable, indexing makes no progress, or no index exists yet. Plain search returns 503; hybrid search continues without it.',
          ],
          [
            'Re-index',
            'Embeds every node of all workspaces into a second index and switches to it at the end. Use it if the current index is wrong. Livegraph detects a new model or a lost collection and re-indexes automatically.',
          ],
        ]}
      />
    </Panel>
  )
}

function ReindexDialog({
  open,
  installed,
  onClose,
}: {
  open: boolean
  installed: Installed | undefined
  onClose: () => void
}) {
  const client = useQueryClient()
  const toast = useToast()
  const ask = useMutation({
    mutationFn: () => api.post<Reindex>('/indexes/reindex'),
    onSuccess: () => {
      toast.ok('A new index is being built', 'The current index is used until the new one is complete.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  })
  const nodes = installed ? liveOf(installed)?.total : undefined
  return (
    <Confirm
      open={open}
      title="Rebuild the index?"
      action="Re-index everything"
      busy={ask.isPending}
      error={ask.error}
      onClose={() => {
        ask.reset()
        onClose()
      }}
      onConfirm={() => ask.mutate()}
    >
      <p>
        Every node of <b>all workspaces</b>
        {nodes ? ` – ${num(nodes)} –` : ''} is embedded again by the configured embedder.
      </p>
      <p>
        Search uses the current index until the new one is complete. A hosted embedder may charge for the
        requests. A re-index cannot be stopped.
      </p>
    </Confirm>
  )
}
