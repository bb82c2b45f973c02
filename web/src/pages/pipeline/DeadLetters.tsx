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

import { useAbout } from '../sources/address'
import { ActionDialog } from './ActionDialog'
import { useLetters } from './data'
import {
  after,
  bulkFilter,
  type Chosen,
  LETTERS_PER_PAGE,
  MOST_LETTERS,
  narrowed,
  placeKey,
  placeOf,
  readLetterQuery,
  writeLetterQuery,
} from './letters'
import { LetterFilters } from './LetterFilters'
import { StateBadge } from './badges'
import { LetterSheet } from './LetterSheet'
import type { Action, Letter, Place } from './shapes'

interface Doing {
  action: Action
  chosen: Chosen
  /** What it is about, in words. */
  what: string
}

/** Records that could not be processed: found, looked into, put back or set aside. */
export function DeadLetters() {
  const [about, write] = useAbout()
  const query = readLetterQuery(about)
  const letters = useLetters(query)
  const [picked, setPicked] = useState<ReadonlyMap<string, Place>>(new Map())
  const [open, setOpen] = useState<Place | null>(null)
  const [doing, setDoing] = useState<Doing | null>(null)
  const list = letters.data?.data ?? []
  const set = (change: Partial<typeof query>) => {
    setPicked(new Map())
    write(writeLetterQuery({ ...query, offset: 0, ...change }))
  }
  const pick = (some: readonly Letter[], on: boolean) => {
    const next = new Map(picked)
    for (const one of some) {
      if (on) next.set(placeKey(one), placeOf(one))
      else next.delete(placeKey(one))
    }
    setPicked(next)
  }
  const start = (action: Action) =>
    setDoing(
      picked.size > 0
        ? {
            action,
            chosen: { places: [...picked.values()] },
            what: plural(picked.size, 'selected dead letter'),
          }
        : {
            action,
            chosen: { filter: bulkFilter(query, after(list, Date.now())) },
            what: narrowed(query) ? 'all that match the filter' : 'all open dead letters',
          },
    )
  return (
    <div className="stack">
      <LetterFilters query={query} onChange={set} />
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
            <Bulk
              picked={picked.size}
              matched={letters.data?.meta.total ?? 0}
              onStart={start}
              onClear={() => setPicked(new Map())}
            />
          )}
          <LetterTable
            list={letters.data?.data}
            loading={letters.isPending}
            stale={letters.isPlaceholderData}
            picked={picked}
            onPick={pick}
            onOpen={(letter) => setOpen(placeOf(letter))}
            empty={
              <Nothing
                all={!narrowed(query)}
                onAll={() => set({ topic: '', state: '', workspaceId: '', from: '', to: '', reason: '' })}
              />
            }
          />
          {letters.data && letters.data.meta.total > 0 && (
            <Pager
              meta={{
                ...letters.data.meta,
                hasMore: letters.data.meta.hasMore && query.offset + 2 * LETTERS_PER_PAGE <= MOST_LETTERS,
              }}
              onOffset={(offset) => set({ offset })}
              what="that match"
            />
          )}
        </Panel>
      )}
      {open && !doing && (
        <LetterSheet
          place={open}
          onClose={() => setOpen(null)}
          onAct={(action) => setDoing({ action, chosen: { places: [open] }, what: placeKey(open) })}
        />
      )}
      {doing && (
        <ActionDialog
          {...doing}
          onClose={(done) => {
            setDoing(null)
            if (done) setPicked(new Map())
          }}
        />
      )}
    </div>
  )
}

function Bulk({
  picked,
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
        {picked > 0 ? (
          <b>{plural(picked, 'dead letter')} selected</b>
        ) : (
          <span className="muted">
            {plural(matched, 'dead letter matches', 'dead letters match')}, newest first
          </span>
        )}
      </span>
      <span className="row">
        {picked > 0 && (
          <Button size="s" variant="ghost" onClick={onClear}>
            None
          </Button>
        )}
        <Button size="s" icon={<RotateCcw size={14} />} onClick={() => onStart('redrive')}>
          {picked > 0 ? 'Redrive' : 'Redrive all'}…
        </Button>
        <Button size="s" icon={<Trash2 size={14} />} onClick={() => onStart('discard')}>
          {picked > 0 ? 'Discard' : 'Discard all'}…
        </Button>
      </span>
    </div>
  )
}

interface LetterTableProps {
  list: Letter[] | undefined
  loading: boolean
  stale: boolean
  picked: ReadonlyMap<string, Place>
  onPick: (letters: readonly Letter[], on: boolean) => void
  onOpen: (letter: Letter) => void
  empty: React.ReactNode
}

function LetterTable({ list, loading, stale, picked, onPick, onOpen, empty }: LetterTableProps) {
  const nameOf = useWorkspaceNames(list?.map((letter) => letter.workspaceId) ?? [])
  const all = Boolean(list?.length) && list?.every((letter) => picked.has(placeKey(letter)))
  const columns: Column<Letter>[] = [
    {
      id: 'pick',
      head: (
        <Checkbox
          label={<span className="sr-only">All on this page</span>}
          checked={all ?? false}
          onChange={(e) => onPick(list ?? [], e.target.checked)}
        />
      ),
      label: 'Choose',
      narrow: true,
      cell: (letter) => (
        <Checkbox
          label={<span className="sr-only">{placeKey(letter)}</span>}
          checked={picked.has(placeKey(letter))}
          onChange={(e) => onPick([letter], e.target.checked)}
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
    { id: 'place', head: 'Record', narrow: true, cell: (letter) => <code>{placeKey(letter)}</code> },
    { id: 'at', head: 'Failed at', narrow: true, cell: (letter) => <Time at={letter.at} /> },
  ]
  return (
    <Table
      label="Dead letters"
      columns={columns}
      rows={list}
      loading={loading}
      stale={stale}
      rowKey={placeKey}
      onOpen={onOpen}
      empty={empty}
    />
  )
}

function Nothing({ all, onAll }: { all: boolean; onAll: () => void }) {
  return (
    <Empty
      icon={<MailCheck size={20} />}
      title={all ? 'No open dead letters' : 'No matching dead letters'}
      actions={<Button onClick={onAll}>{all ? 'Show redriven and discarded ones' : 'Show all'}</Button>}
    >
      <p>
        {all
          ? 'Every record was processed. A record that cannot be decoded or stored becomes a dead letter with its reason, and processing continues.'
          : `The newest ${num(MOST_LETTERS)} of a filter can be paged through.`}
      </p>
    </Empty>
  )
}
