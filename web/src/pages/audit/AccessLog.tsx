import { useInfiniteQuery } from '@tanstack/react-query'
import { Download, FileClock, RotateCw, X } from 'lucide-react'
import { useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'

import { api, url, type Key, type RequestRecord } from '@/api'
import { useItemsById } from '@/app/itemsById'
import { useWorkspaceNames } from '@/app/workspace'
import {
  Badge,
  Button,
  Bytes,
  CodeBlock,
  Copyable,
  Dialog,
  duration,
  Empty,
  ErrorNotice,
  Facts,
  IconButton,
  MoreButton,
  Name,
  Panel,
  plural,
  Table,
  Time,
  type Column,
} from '@/ui'

import { FIELDS, queryOf, toneOf } from './filter'
import { Filters } from './Filters'

const PAGE = 50

/** Returns the names of the shown keys and workspaces by id. */
function useNames(
  ofKeys: readonly string[],
  ofWorkspaces: readonly string[],
): {
  key: (id: string) => string | undefined
  workspace: (id: string) => string | undefined
} {
  const keys = useItemsById<Key>('/keys', 'id', ofKeys, (k) => k.id)
  const workspace = useWorkspaceNames(ofWorkspaces)
  return useMemo(() => ({ key: (id) => keys.get(id)?.name, workspace }), [keys, workspace])
}

export function AccessLog() {
  const [params, setParams] = useSearchParams()
  const [asked, setAsked] = useState(() => Date.now())
  const [cleared, setCleared] = useState(0)
  const [open, setOpen] = useState<RequestRecord | null>(null)
  const query = useMemo(() => queryOf(params, asked), [params, asked])
  const list = useInfiniteQuery({
    queryKey: ['audit', query],
    queryFn: ({ pageParam, signal }) =>
      api.list<RequestRecord>('/audit', { query: { ...query, limit: PAGE, cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
  })
  const set = (name: string, value: string) => {
    setParams((before) => {
      const after = new URLSearchParams(before)
      if (value || name === 'range') after.set(name, value)
      else after.delete(name)
      return after
    })
    setAsked(Date.now())
  }
  const clear = () => {
    setParams({})
    setCleared((times) => times + 1) // new fields, without text that is not applied
  }
  const rows = list.data?.pages.flatMap((page) => page.data)
  const names = useNames(
    rows?.flatMap((u) => u.keyId ?? []) ?? [],
    rows?.flatMap((u) => u.workspaceId ?? []) ?? [],
  )
  const meta = list.data?.pages[0]?.meta
  const filtered = FIELDS.some((field) => params.get(field))
  return (
    <div className="stack">
      {/* Not with the results: leaving a field may replace them by an error between press and release. */}
      <Panel
        title="Filters"
        actions={
          filtered && (
            <Button size="s" icon={<X size={14} />} onClick={clear}>
              Clear filters
            </Button>
          )
        }
      >
        <Filters key={cleared} params={params} set={set} error={list.error} />
      </Panel>
      {list.error && !rows && <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />}
      {(!list.error || rows) && (
        <Panel
          flush
          title="Uses"
          note={meta && `${meta.total.toLocaleString('en-GB')}${meta.truncated ? '+' : ''}, newest first`}
          actions={
            <>
              <a
                className="btn btn-default btn-s"
                href={url('/audit', { ...query, format: 'csv' })}
                download="livegraph-audit.csv"
              >
                <Download size={14} aria-hidden="true" />
                CSV
              </a>
              <IconButton
                label="Refresh"
                size="s"
                busy={list.isFetching}
                onClick={() => setAsked(Date.now())}
              >
                <RotateCw size={14} />
              </IconButton>
            </>
          }
        >
          <Table
            label="Requests with keys"
            columns={columns(names)}
            rows={rows}
            rowKey={(u) => `${u.requestId}-${u.until}-${u.timestamp}`}
            loading={list.isPending}
            skeletonRows={10}
            onOpen={setOpen}
            empty={
              <Empty
                icon={<FileClock size={20} />}
                title={filtered ? 'No matching requests' : 'No requests in this time range'}
              >
                <p>
                  {filtered
                    ? 'Remove a filter, or choose a longer time range.'
                    : 'Requests appear here after a few seconds. Send a request with a key and refresh:'}
                </p>
                {!filtered && (
                  <CodeBlock
                    code={`curl -s ${window.location.origin}/api/me -H "Authorization: Bearer $LIVEGRAPH_API_KEY"`}
                    label="A request"
                  />
                )}
              </Empty>
            }
          />
          {rows && rows.length > 0 && meta && (
            <MoreButton
              shown={rows.length}
              total={meta.total}
              truncated={meta.truncated}
              hasMore={list.hasNextPage}
              busy={list.isFetchingNextPage}
              onMore={() => void list.fetchNextPage()}
            />
          )}
        </Panel>
      )}
      {open && <RequestDetails record={open} names={names} onClose={() => setOpen(null)} />}
    </div>
  )
}

type Names = ReturnType<typeof useNames>

function columns(names: Names): Column<RequestRecord>[] {
  return [
    {
      id: 'time',
      head: 'Time',
      narrow: true,
      primary: true,
      cell: (u) => <Time at={u.timestamp} absolute />,
    },
    {
      id: 'status',
      head: 'Status',
      narrow: true,
      cell: (u) => <Badge tone={toneOf(u.status)}>{u.status === 0 ? 'cut off' : u.status}</Badge>,
    },
    {
      id: 'route',
      head: 'Route',
      cell: (u) => (
        <span className="audit-route">
          <b>{u.method}</b> <Name text={u.route || '(no such route)'} />
        </span>
      ),
    },
    { id: 'key', head: 'Key', cell: (u) => <KeyName id={u.keyId} names={names} /> },
    {
      id: 'workspace',
      head: 'Workspace',
      wide: true,
      cell: (u) =>
        u.workspaceId ? (
          <Name text={names.workspace(u.workspaceId) ?? u.workspaceId} max={80} />
        ) : (
          <span className="muted">–</span>
        ),
    },
    { id: 'ip', head: 'From', wide: true, cell: (u) => <code>{u.ip || '–'}</code> },
    {
      id: 'took',
      head: 'Duration',
      numeric: true,
      cell: (u) => <span className="nowrap">{duration(u.durationMs)}</span>,
    },
  ]
}

function KeyName({ id, names }: { id: string | null; names: Names }) {
  if (!id) return <span className="muted">unknown key</span>
  return <Name text={names.key(id) ?? id} max={80} />
}

function RequestDetails({
  record: u,
  names,
  onClose,
}: {
  record: RequestRecord
  names: Names
  onClose: () => void
}) {
  return (
    <Dialog open side onClose={onClose} title={`${u.method} ${u.route || '(no such route)'}`}>
      <Facts
        items={[
          [
            'Status',
            <Badge key="s" tone={toneOf(u.status)}>
              {u.status === 0 ? 'closed before a response' : u.status}
            </Badge>,
          ],
          ['Time', <Time key="t" at={u.timestamp} absolute />],
          ['Request', <Copyable key="r" text={u.requestId} label="Copy the request's id" />],
          ['Key', <KeyName key="k" id={u.keyId} names={names} />],
          u.keyId ? ['Key id', <Copyable key="ki" text={u.keyId} label="Copy the key's id" />] : null,
          u.workspaceId
            ? ['Workspace', <Name key="w" text={names.workspace(u.workspaceId) ?? u.workspaceId} />]
            : null,
          ['Address', <code key="ip">{u.ip || '–'}</code>],
          ['Client', <Name key="ua" text={u.userAgent} />],
          [
            'Duration',
            `${duration(u.durationMs)} ${u.until === 'end' ? 'until the end' : 'until the first byte'}`,
          ],
          ['Request size', <Bytes key="in" n={u.bytesIn} />],
          ['Response size', <Bytes key="out" n={u.bytesOut} />],
          u.requests > 1 ? ['Represents', plural(u.requests, 'request')] : null,
        ]}
      />
    </Dialog>
  )
}
