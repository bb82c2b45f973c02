import { MailCheck, RotateCcw, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { useWorkspaceNames } from '@/app/workspace'
import {
  Button,
  Checkbox,
  Empty,
  ErrorNotice,
  Name,
  Notice,
  num,
  Pager,
  Panel,
  plural,
  Table,
  Time,
  type Column,
} from '@/ui'

import { usePageParams } from '../sources/address'
import { ActionDialog } from './ActionDialog'
import { useDeadLetters } from './data'
import {
  timeAfter,
  bulkFilter,
  type Selection,
  DEAD_LETTERS_PER_PAGE,
  MAX_DEAD_LETTERS,
  isFiltered,
  refKey,
  refOf,
  readDeadLetterQuery,
  writeDeadLetterQuery,
} from './deadLetterActions'
import { DeadLetterFilters } from './DeadLetterFilters'
import { StateBadge } from './badges'
import { DeadLetterDetails } from './DeadLetterDetails'
import type { Action, DeadLetter, RecordRef } from './shapes'

interface PendingAction {
  action: Action
  selection: Selection
  /** A description of the selection. */
  what: string
}

/** Dead letters: search, inspect, redrive and discard. */
export function DeadLetters() {
  const [params, write] = usePageParams()
  const query = readDeadLetterQuery(params)
  const letters = useDeadLetters(query)
  const [selected, setSelected] = useState<ReadonlyMap<string, RecordRef>>(new Map())
  const [open, setOpen] = useState<RecordRef | null>(null)
  const [pending, setPending] = useState<PendingAction | null>(null)
  const list = letters.data?.data ?? []
  const set = (change: Partial<typeof query>) => {
    setSelected(new Map())
    write(writeDeadLetterQuery({ ...query, offset: 0, ...change }))
  }
  const pick = (some: readonly DeadLetter[], on: boolean) => {
    const next = new Map(selected)
    for (const item of some) {
      if (on) next.set(refKey(item), refOf(item))
      else next.delete(refKey(item))
    }
    setSelected(next)
  }
  const start = (action: Action) =>
    setPending(
      selected.size > 0
        ? {
            action,
            selection: { places: [...selected.values()] },
            what: plural(selected.size, 'selected dead letter'),
          }
        : {
            action,
            selection: { filter: bulkFilter(query, timeAfter(list, Date.now())) },
            what: isFiltered(query) ? 'all that match the filter' : 'all open dead letters',
          },
    )
  return (
    <div className="stack">
      <DeadLetterFilters query={query} onChange={set} />
      {letters.isError && <ErrorNotice error={letters.error} onRetry={() => void letters.refetch()} />}
      {letters.data?.meta.truncated && (
        <Notice title="Not all dead letters are listed">
          <p>
            A list covers the newest million dead letters. Filter by topic or by an earlier end to see older
            ones.
          </p>
        </Notice>
      )}
      {!(letters.isError && !letters.data) && (
        <Panel flush>
          {list.length > 0 && (
            <BulkActions
              picked={selected.size}
              matched={letters.data?.meta.total ?? 0}
              onStart={start}
              onClear={() => setSelected(new Map())}
            />
          )}
          <DeadLetterTable
            list={letters.data?.data}
            loading={letters.isPending}
            stale={letters.isPlaceholderData}
            selected={selected}
            onSelect={pick}
            onOpen={(letter) => setOpen(refOf(letter))}
            empty={
              <NoDeadLetters
                all={!isFiltered(query)}
                onAll={() => set({ topic: '', state: '', workspaceId: '', from: '', to: '', reason: '' })}
              />
            }
          />
          {letters.data && letters.data.meta.total > 0 && (
            <Pager
              meta={{
                ...letters.data.meta,
                hasMore:
                  letters.data.meta.hasMore && query.offset + 2 * DEAD_LETTERS_PER_PAGE <= MAX_DEAD_LETTERS,
              }}
              onOffset={(offset) => set({ offset })}
              what="that match"
            />
          )}
        </Panel>
      )}
      {open && !pending && (
        <DeadLetterDetails
          recordRef={open}
          onClose={() => setOpen(null)}
          onAct={(action) => setPending({ action, selection: { places: [open] }, what: refKey(open) })}
        />
      )}
      {pending && (
        <ActionDialog
          {...pending}
          onClose={(done) => {
            setPending(null)
            if (done) setSelected(new Map())
          }}
        />
      )}
    </div>
  )
}

function BulkActions({
  picked: selected,
  matched,
  onStart,
  onClear,
}: {
  picked: number
  matched: number
  onStart: (action: Action) => void
  onClear: () => void
}) {
  return (
    <div className="panel-head">
      <span role="status">
        {selected > 0 ? (
          <b>{plural(selected, 'dead letter')} selected</b>
        ) : (
          <span className="muted">
            {plural(matched, 'dead letter matches', 'dead letters match')}, newest first
          </span>
        )}
      </span>
      <span className="row">
        {selected > 0 && (
          <Button size="s" variant="ghost" onClick={onClear}>
            None
          </Button>
        )}
        <Button size="s" icon={<RotateCcw size={14} />} onClick={() => onStart('redrive')}>
          {selected > 0 ? 'Redrive' : 'Redrive all'}…
        </Button>
        <Button size="s" icon={<Trash2 size={14} />} onClick={() => onStart('discard')}>
          {selected > 0 ? 'Discard' : 'Discard all'}…
        </Button>
      </span>
    </div>
  )
}

interface DeadLetterTableProps {
  list: DeadLetter[] | undefined
  loading: boolean
  stale: boolean
  selected: ReadonlyMap<string, RecordRef>
  onSelect: (letters: readonly DeadLetter[], on: boolean) => void
  onOpen: (letter: DeadLetter) => void
  empty: React.ReactNode
}

function DeadLetterTable({ list, loading, stale, selected, onSelect, onOpen, empty }: DeadLetterTableProps) {
  const nameOf = useWorkspaceNames(list?.map((letter) => letter.workspaceId) ?? [])
  const all = Boolean(list?.length) && list?.every((letter) => selected.has(refKey(letter)))
  const columns: Column<DeadLetter>[] = [
    {
      id: 'pick',
      head: (
        <Checkbox
          label={<span className="sr-only">All on this page</span>}
          checked={all ?? false}
          onChange={(e) => onSelect(list ?? [], e.target.checked)}
        />
      ),
      label: 'Choose',
      narrow: true,
      cell: (letter) => (
        <Checkbox
          label={<span className="sr-only">{refKey(letter)}</span>}
          checked={selected.has(refKey(letter))}
          onChange={(e) => onSelect([letter], e.target.checked)}
        />
      ),
    },
    {
      id: 'reason',
      head: 'Reason',
      primary: true,
      cell: (letter) => <Name text={letter.reason || 'no reason'} max={160} strong />,
    },
    { id: 'state', head: 'State', narrow: true, cell: (letter) => <StateBadge state={letter.state} /> },
    { id: 'holds', head: 'Content', cell: (letter) => <Name text={letter.holds} max={80} /> },
    {
      id: 'workspace',
      head: 'Workspace',
      wide: true,
      cell: (letter) =>
        letter.workspaceId ? (
          <Name text={nameOf(letter.workspaceId) ?? letter.workspaceId} max={40} />
        ) : (
          <span className="muted">unknown</span>
        ),
    },
    { id: 'place', head: 'Record', narrow: true, cell: (letter) => <code>{refKey(letter)}</code> },
    { id: 'at', head: 'Failed at', narrow: true, cell: (letter) => <Time at={letter.at} /> },
  ]
  return (
    <Table
      label="Dead letters"
      columns={columns}
      rows={list}
      loading={loading}
      stale={stale}
      rowKey={refKey}
      onOpen={onOpen}
      empty={empty}
    />
  )
}

function NoDeadLetters({ all, onAll }: { all: boolean; onAll: () => void }) {
  return (
    <Empty
      icon={<MailCheck size={20} />}
      title={all ? 'No open dead letters' : 'No matching dead letters'}
      actions={<Button onClick={onAll}>{all ? 'Show redriven and discarded ones' : 'Show all'}</Button>}
    >
      <p>
        {all
          ? 'Every record was processed. A record that cannot be decoded or stored becomes a dead letter with its reason, and processing continues.'
          : `The newest ${num(MAX_DEAD_LETTERS)} of a filter can be paged through.`}
      </p>
    </Empty>
  )
}
