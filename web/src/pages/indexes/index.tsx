// The search indexes: how far each workspace is, the model, and making the index anew.

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
  underWay,
} from './words'

const KEY = ['indexes'] as const
/** Milliseconds between looks, while something is being made and else. */
const OFTEN = 1_500
const SELDOM = 5_000
const PAGE = 50

export default function IndexesPage() {
  const [offset, setOffset] = useState(0)
  const [asking, setAsking] = useState(false)
  const installed = useQuery({
    queryKey: [...KEY, 'installed'],
    queryFn: ({ signal }) => api.get<Installed>('/indexes/reindex', { signal }),
    refetchInterval: (query) => (query.state.data && underWay(query.state.data) ? OFTEN : SELDOM),
  })
  const busy = installed.data ? underWay(installed.data) : false
  const list = useQuery({
    queryKey: [...KEY, 'workspaces', offset],
    queryFn: ({ signal }) => api.list<WorkspaceIndex>('/indexes', { query: { limit: PAGE, offset }, signal }),
    refetchInterval: busy ? OFTEN : SELDOM,
    placeholderData: (before) => before,
  })
  const degraded = list.data?.data.filter((one) => one.status === 'degraded') ?? []
  return (
    <Page
      title="Indexes"
      lead="What search finds by meaning. Words and the graph are read from Postgres and need no index of their own."
      actions={
        <Button
          variant="primary"
          icon={<RefreshCw size={16} />}
          disabled={!installed.data || busy}
          onClick={() => setAsking(true)}
        >
          {busy ? 'Being made anew' : 'Re-index'}
        </Button>
      }
    >
      {installed.error && <ErrorNotice error={installed.error} onRetry={() => void installed.refetch()} />}
      {degraded.length > 0 && <Degraded workspaces={degraded} />}
      {installed.data ? (
        <Standing installed={installed.data} list={list.data?.data ?? []} />
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
                    Make a workspace
                  </ButtonLink>
                }
              >
                <p>Each workspace's nodes are indexed by themselves as they are written.</p>
              </Empty>
            }
          />
        )}
      </Panel>
      {list.data && list.data.meta.total > PAGE && (
        <Pager meta={list.data.meta} onOffset={setOffset} what="workspaces" />
      )}
      <Meaning />
      <AskReindex open={asking} installed={installed.data} onClose={() => setAsking(false)} />
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

function Standing({ installed, list }: { installed: Installed; list: readonly WorkspaceIndex[] }) {
  const live = liveOf(installed)
  const building = buildingOf(installed)
  const pending = list.reduce((sum, one) => sum + one.nodes.pending, 0)
  return (
    <>
      <div className="indexes-stats">
        <Panel>
          <Stat
            label="Model that is searched"
            value={live ? <Name text={live.model.name} /> : 'none'}
            note={
              live ? plural(live.model.dimensions, 'dimension') : 'Plain search is away until there is one.'
            }
            tone={live ? 'neutral' : 'bad'}
          />
        </Panel>
        <Panel>
          <Stat label="Nodes in the index" value={<Num n={live?.done ?? 0} />} note="of all workspaces" />
        </Panel>
        <Panel>
          <Stat
            label="Not in the index yet"
            value={<Num n={pending} />}
            tone={pending > 0 ? 'warn' : 'ok'}
            note={pending > 0 ? 'of the workspaces below' : 'everything is in it'}
          />
        </Panel>
      </div>
      {building && <Building index={building} />}
      {installed.last && <Last last={installed.last} live={live} />}
    </>
  )
}

function Building({ index }: { index: SearchIndex }) {
  return (
    <Panel title="A new index is being made">
      <div className="stack" aria-live="polite">
        <Progress label="Nodes that are done" value={index.done} max={index.total} />
        <p>
          {progressText(index)} · <Name text={index.model.name} />,{' '}
          {plural(index.model.dimensions, 'dimension')}
        </p>
        <p className="muted">{causeText(index.cause)} What is written meanwhile is found as ever.</p>
      </div>
    </Panel>
  )
}

function Last({ last, live }: { last: Reindex; live: SearchIndex | null }) {
  return (
    <Panel title="Last asked for">
      <Facts
        items={[
          ['State', lastText(last)],
          ['By', <Name key="by" text={last.requestedBy} />],
          ['Asked', <Time key="asked" at={last.requestedAt} />],
          last.finishedAt !== null && ['Finished', <Time key="finished" at={last.finishedAt} />],
          live?.switchedAt != null && ['This index answers since', <Time key="since" at={live.switchedAt} />],
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
        {statusText(first)} Plain search answers 503 for what it cannot ask; hybrid search goes on with words
        and the graph and says so. Look under <b>Overview</b> whether Milvus and the embedder are up, and
        under <b>Pipeline</b> for the lag of the group “embeddings”. What was written meanwhile is indexed
        when they are back: nothing needs to be done by hand.
      </p>
    </Notice>
  )
}

function Meaning() {
  return (
    <Panel title="What the states mean">
      <Facts
        items={[
          ['ready', 'What is in the graph is found by its meaning, about a second after it was written.'],
          ['indexing', 'Some changes wait. They are found by their words already.'],
          [
            'degraded',
            'The index cannot be asked or written: Milvus or the embedder is away, it stands still, or there is none yet. Plain search is 503; hybrid search does without.',
          ],
          [
            'Re-index',
            'Embeds every node of all workspaces anew beside the index that answers, and changes over at the end. For another model, or when you do not trust the one there is; what Livegraph itself notices (a new model, a lost collection) it mends by itself.',
          ],
        ]}
      />
    </Panel>
  )
}

function AskReindex({
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
      toast.ok('A new index is being made', 'The one that is there answers until it is whole.')
      onClose()
    },
    onSettled: () => client.invalidateQueries({ queryKey: KEY }),
  })
  const nodes = installed ? liveOf(installed)?.total : undefined
  return (
    <Confirm
      open={open}
      title="Make the index anew?"
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
        {nodes ? ` – ${num(nodes)} –` : ''} is embedded again by the embedder that is configured.
      </p>
      <p>
        Search answers from the index that is there until the new one is whole. It costs the embedder work, or
        money where it is somebody else's; it cannot be stopped half-way, and harms nothing.
      </p>
    </Confirm>
  )
}
