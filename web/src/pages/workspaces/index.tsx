import './workspaces.css'

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { Building2, Plus } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'

import { api, type Workspace } from '@/api'
import { WORKSPACES } from '@/app/workspace'
import {
  Badge,
  Button,
  compact,
  Empty,
  ErrorNotice,
  Name,
  num,
  Page,
  Pager,
  Panel,
  DebouncedSearch,
  plural,
  Table,
  Time,
  type Column,
} from '@/ui'

import { Details } from './Details'
import { NewWorkspace } from './Form'

const COLUMNS: readonly Column<Workspace>[] = [
  { id: 'name', head: 'Name', primary: true, sortable: true, cell: (w) => <Name text={w.name} strong /> },
  {
    id: 'plan',
    head: 'Plan',
    sortable: true,
    cell: (w) => <Badge tone={w.plan === 'enterprise' ? 'accent' : 'neutral'}>{w.plan}</Badge>,
  },
  {
    id: 'mode',
    head: 'Mode',
    cell: (w) => <Badge tone={w.mode === 'test' ? 'warn' : 'neutral'}>{w.mode}</Badge>,
  },
  { id: 'minute', head: 'Requests a minute', numeric: true, cell: (w) => limit(w.limits.requestsPerMinute) },
  {
    id: 'day',
    head: 'Requests a day',
    numeric: true,
    wide: true,
    cell: (w) => limit(w.limits.requestsPerDay),
  },
  { id: 'sources', head: 'Sources', numeric: true, sortable: true, cell: (w) => num(w.sources) },
  { id: 'series', head: 'Series', numeric: true, sortable: true, cell: (w) => compact(w.series) },
  { id: 'createdAt', head: 'Created', sortable: true, wide: true, cell: (w) => <Time at={w.createdAt} /> },
]

const limit = (n: number | null) => (n === null ? <span className="muted">unlimited</span> : num(n))

const PAGE = 50

export default function WorkspacesPage() {
  const [params, setParams] = useSearchParams()
  const [text, setText] = useState('')
  const [sort, setSort] = useState('createdAt')
  const [offset, setOffset] = useState(0)
  const name = text.trim()
  const find = (text: string) => {
    setText(text)
    setOffset(0)
  }
  const list = useQuery({
    queryKey: [...WORKSPACES, 'page', name, sort, offset],
    queryFn: ({ signal }) =>
      api.list<Workspace>('/workspaces', {
        query: { name, sort, limit: PAGE, offset: offset || null },
        signal,
      }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
  const open = params.get('id')
  const show = (change: Record<string, string>) => setParams(change)
  return (
    <Page
      title="Workspaces"
      lead="Each workspace has its own sources, graph, keys and limits. Workspaces are isolated from each other."
      actions={
        <Button variant="primary" icon={<Plus size={16} />} onClick={() => show({ new: '1' })}>
          New workspace
        </Button>
      }
    >
      {list.error && !list.data ? (
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Panel
          flush
          title={list.data ? plural(list.data.meta.total, 'workspace') : 'Workspaces'}
          actions={<DebouncedSearch label="Find by name or id" value={text} onChange={find} />}
        >
          <Table
            label="Workspaces"
            columns={COLUMNS}
            rows={list.data?.data}
            rowKey={(w) => w.id}
            loading={list.isPending}
            stale={list.isPlaceholderData}
            sort={sort}
            onSort={(sort) => {
              setSort(sort)
              setOffset(0)
            }}
            selected={open}
            onOpen={(w) => show({ id: w.id })}
            empty={
              text ? (
                <Empty title="No matching workspaces">
                  <p>Search by name, or by the whole id.</p>
                </Empty>
              ) : (
                <Empty icon={<Building2 size={20} />} title="No workspaces yet">
                  <p>A workspace contains sources, a graph and keys. Create the first one.</p>
                </Empty>
              )
            }
          />
          {list.data && list.data.meta.total > PAGE && <Pager meta={list.data.meta} onOffset={setOffset} />}
        </Panel>
      )}
      <NewWorkspace
        open={params.get('new') === '1'}
        onClose={() => show({})}
        onCreated={(id) => show({ id })}
      />
      {open && <Details key={open} id={open} onClose={() => show({})} />}
    </Page>
  )
}
