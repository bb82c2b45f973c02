import { useInfiniteQuery } from '@tanstack/react-query'
import { UserRound } from 'lucide-react'
import { useState } from 'react'

import { api, type OperatorAction } from '@/api'
import { useWorkspaceNames } from '@/app/workspace'
import {
  Badge,
  Copyable,
  Dialog,
  Empty,
  ErrorNotice,
  Facts,
  MoreButton,
  Name,
  Panel,
  Table,
  Time,
  type Column,
} from '@/ui'

import { toneOf } from './filter'

const COLUMNS: readonly Column<OperatorAction>[] = [
  { id: 'time', head: 'Time', narrow: true, primary: true, cell: (a) => <Time at={a.timestamp} absolute /> },
  {
    id: 'operator',
    head: 'Operator',
    cell: (a) => <Name text={a.actor || 'unknown'} max={80} />,
  },
  {
    id: 'route',
    head: 'What',
    cell: (a) => (
      <span className="audit-route">
        <b>{a.method}</b> <Name text={a.route.replace('/admin/api', '')} />
      </span>
    ),
  },
  { id: 'subject', head: 'Of', wide: true, cell: (a) => <Name text={a.subject} max={80} /> },
  { id: 'ip', head: 'From', wide: true, cell: (a) => <code>{a.ip ?? '–'}</code> },
  {
    id: 'status',
    head: 'Status',
    narrow: true,
    cell: (a) => <Badge tone={toneOf(a.status)}>{a.status ?? 'unknown'}</Badge>,
  },
]

/** The changes that operators made, in this UI and by the command line. */
export function OperatorActions() {
  const [open, setOpen] = useState<OperatorAction | null>(null)
  const nameOf = useWorkspaceNames([open?.workspaceId])
  const list = useInfiniteQuery({
    queryKey: ['trail'],
    queryFn: ({ pageParam, signal }) =>
      api.list<OperatorAction>('/trail', { query: { limit: 50, cursor: pageParam }, signal }),
    initialPageParam: '',
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
  })
  const rows = list.data?.pages.flatMap((page) => page.data)
  if (list.error && !rows) return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  return (
    <Panel flush>
      <Table
        label="Actions of operators"
        columns={COLUMNS}
        rows={rows}
        rowKey={(a) => a.requestId + a.timestamp}
        loading={list.isPending}
        onOpen={setOpen}
        empty={
          <Empty icon={<UserRound size={20} />} title="No actions yet">
            <p>Logins and changes by operators are listed here.</p>
          </Empty>
        }
      />
      {rows && rows.length > 0 && (
        <MoreButton
          shown={rows.length}
          hasMore={list.hasNextPage}
          busy={list.isFetchingNextPage}
          onMore={() => void list.fetchNextPage()}
        />
      )}
      {open && (
        <Dialog
          open
          side
          onClose={() => setOpen(null)}
          title={`${open.method} ${open.route.replace('/admin/api', '')}`}
        >
          <Facts
            items={[
              [
                'Status',
                <Badge key="s" tone={toneOf(open.status)}>
                  {open.status ?? 'unknown'}
                </Badge>,
              ],
              ['Time', <Time key="t" at={open.timestamp} absolute />],
              ['Operator', <Name key="o" text={open.actor || 'unknown'} />],
              open.subject ? ['Of', <Name key="of" text={open.subject} />] : null,
              open.workspaceId
                ? ['Workspace', <Name key="w" text={nameOf(open.workspaceId) ?? open.workspaceId} />]
                : null,
              ['Request', <Copyable key="r" text={open.requestId} label="Copy the request's id" />],
              ['Address', <code key="ip">{open.ip ?? '–'}</code>],
              ['Client', <Name key="ua" text={open.userAgent} />],
            ]}
          />
        </Dialog>
      )}
    </Panel>
  )
}
