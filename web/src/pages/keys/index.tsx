import './keys.css'

import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { KeyRound, Plus } from 'lucide-react'
import { useState } from 'react'
import { useSearchParams } from 'react-router'

import { api, type Key, type Query } from '@/api'
import { WorkspaceSelect } from '@/app/WorkspaceSelect'
import {
  Button,
  Empty,
  ErrorNotice,
  Name,
  Notice,
  Page,
  Pager,
  Panel,
  DebouncedSearch,
  plural,
  Select,
  Table,
  Time,
  type Column,
} from '@/ui'

import { KeyDetails } from './Details'
import { scopesText, searchText } from './keys'
import { NewKeyDialog } from './NewKey'
import { KEYS, KeyWorkspaces, StateBadge } from './parts'

const COLUMNS: readonly Column<Key>[] = [
  { id: 'name', head: 'Name', primary: true, cell: (k) => <Name text={k.name} strong /> },
  { id: 'display', head: 'Key', cell: (k) => <code className="nowrap">{k.display}…</code> },
  { id: 'opens', head: 'Workspaces', cell: (k) => <KeyWorkspaces k={k} /> },
  {
    id: 'scopes',
    head: 'Scopes',
    wide: true,
    cell: (k) => (
      <span title={k.scopes.join(', ')} className="name">
        {scopesText(k.scopes)}
      </span>
    ),
  },
  { id: 'used', head: 'Last used', cell: (k) => <Time at={k.lastUsedAt} none="never" /> },
  { id: 'expires', head: 'Expires', cell: (k) => <Time at={k.expiresAt} none="never" /> },
  { id: 'state', head: 'State', narrow: true, cell: (k) => <StateBadge k={k} /> },
]

const PAGE = 50

/** Returns a page of keys, newest first. The previous page stays while the next one is loading. */
function useKeys(query: Query, enabled = true) {
  return useQuery({
    queryKey: [...KEYS, query],
    queryFn: ({ signal }) => api.list<Key>('/keys', { query: { sort: '-createdAt', ...query }, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
    enabled,
  })
}

export default function KeysPage() {
  const [params, setParams] = useSearchParams()
  const [text, setText] = useState('')
  const [offset, setOffset] = useState(0)
  const workspaceId = params.get('workspaceId') ?? ''
  const state = params.get('state') ?? 'active'
  const among = { workspaceId, state: state === 'all' ? null : state }
  const list = useKeys({ ...among, name: searchText(text), limit: PAGE, offset: offset || null })
  const due = useKeys({ ...among, rollDue: 'true', limit: 1 }).data?.meta.total ?? 0
  const find = (text: string) => {
    setText(text)
    setOffset(0)
  }
  const filter = (change: Record<string, string | null>) => {
    set(change)
    setOffset(0)
  }
  const set = (change: Record<string, string | null>) =>
    setParams((before) => {
      const after = new URLSearchParams(before)
      for (const [name, value] of Object.entries(change)) {
        if (value === null || value === '') after.delete(name)
        else after.set(name, value)
      }
      return after
    })
  const rows = list.data?.data
  // The key of the URL may be on another page of the list or on none.
  const requestedId = params.get('id')
  const listed = rows?.find((k) => k.id === requestedId)
  const single = useKeys({ id: requestedId, limit: 1 }, Boolean(requestedId && list.data && !listed))
  const found = listed ?? (requestedId ? single.data?.data.find((k) => k.id === requestedId) : undefined)
  // A key that leaves the list stays open while it is loaded: a dialog that opens again would cover its successor.
  const [last, setLast] = useState<Key>()
  if (found && found !== last) setLast(found)
  const open = found ?? (last?.id === requestedId ? last : undefined)
  const filtered = Boolean(text || workspaceId || state !== 'active')
  return (
    <Page
      title="Keys"
      lead="Programs authenticate with API keys. A key is shown once; only its hash is stored."
      actions={
        <Button variant="primary" icon={<Plus size={16} />} onClick={() => set({ new: '1' })}>
          New key
        </Button>
      }
    >
      {due > 0 && (
        <Notice tone="warn" title={`${plural(due, 'key is', 'keys are')} older than 90 days`}>
          <p>
            Roll {due === 1 ? 'it' : 'them'}: the successor has the same scopes, and the old key keeps working
            for a while.
          </p>
        </Notice>
      )}
      {list.error && !list.data ? (
        <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
      ) : (
        <Panel
          flush
          title={list.data ? plural(list.data.meta.total, 'key') : 'Keys'}
          actions={
            <>
              <WorkspaceSelect
                hideLabel
                beside
                value={workspaceId}
                onChange={(id) => filter({ workspaceId: id })}
                none="All workspaces"
              />
              <Select
                aria-label="State"
                value={state}
                onChange={(e) => filter({ state: e.target.value === 'active' ? null : e.target.value })}
                options={[
                  { value: 'active', label: 'Active' },
                  { value: 'expired', label: 'Expired' },
                  { value: 'revoked', label: 'Revoked' },
                  { value: 'all', label: 'All' },
                ]}
              />
              <DebouncedSearch label="Find by name" value={text} onChange={find} />
            </>
          }
        >
          <Table
            label="Keys"
            columns={COLUMNS}
            rows={rows}
            rowKey={(k) => k.id}
            loading={list.isPending}
            stale={list.isPlaceholderData}
            selected={params.get('id')}
            onOpen={(k) => set({ id: k.id })}
            empty={
              filtered ? (
                <Empty
                  title="No matching keys"
                  actions={
                    <Button
                      onClick={() => {
                        find('')
                        setParams({})
                      }}
                    >
                      Show all active keys
                    </Button>
                  }
                />
              ) : (
                <Empty
                  icon={<KeyRound size={20} />}
                  title="No keys yet"
                  actions={
                    <Button variant="primary" icon={<Plus size={16} />} onClick={() => set({ new: '1' })}>
                      New key
                    </Button>
                  }
                >
                  <p>Create a key with the scopes and workspaces that the program needs.</p>
                </Empty>
              )
            }
          />
          {list.data && list.data.meta.total > PAGE && <Pager meta={list.data.meta} onOffset={setOffset} />}
        </Panel>
      )}
      {params.get('new') === '1' && (
        <NewKeyDialog workspaceId={workspaceId} onClose={() => set({ new: null })} />
      )}
      {open && <KeyDetails key={open.id} k={open} onClose={() => set({ id: null })} />}
    </Page>
  )
}
