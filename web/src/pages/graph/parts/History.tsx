// The live history of the graph, newest first. Each change can be undone and redone.

import { useInfiniteQuery } from '@tanstack/react-query'
import { Redo2, Undo2 } from 'lucide-react'
import { useMemo, useState } from 'react'

import { Badge, Button, cx, Empty, ErrorNotice, MoreButton, num, Segmented, Skeleton, Time } from '@/ui'

import type { ExplorerState } from '../data/explorer'
import { changeStatuses, withChange, type ChangeStatus } from '../model/history'
import type { Difference } from '../model/patch'
import { changeDiffs, affectsNode, affectedNodeIds } from '../model/diffs'
import type { Change, Command } from '../model/types'
import { changeText, stepsText } from '../model/descriptions'
import { useActors } from './actors'
import { DifferenceList } from './EditConflictNotice'
import { nodeNamer, useShared } from './context'

const PAGE = 30
/** The number of steps of a batch that are shown. */
const MAX_STEPS = 4

export interface HistoryProps {
  state: ExplorerState
  /** Undoes or redoes one command. */
  onCommand: (command: Command) => void
  busy: boolean
  onShow: (change: Change) => void
}

export function History({ state, onCommand, busy, onShow }: HistoryProps) {
  const { workspace, source } = useShared()
  const node = state.selected?.kind === 'node' ? state.selected.id : null
  const [wholeGraph, setWholeGraph] = useState(false)
  const of = wholeGraph ? null : node
  const pages = useInfiniteQuery({
    queryKey: ['graph', workspace, 'history', of],
    queryFn: ({ pageParam, signal }) => source.history(of, pageParam, PAGE, signal),
    initialPageParam: null as string | null,
    getNextPageParam: (last) => last.meta.nextCursor ?? undefined,
  })
  const changes = useMemo(() => {
    const fetched: readonly Change[] = pages.data?.pages.flatMap((page) => page.data) ?? []
    const recent = state.recent.filter((change) => of === null || affectsNode(change, of))
    // Only newer changes: older ones that are missing belong to pages that are not loaded yet.
    const newest = fetched[0]?.sequence ?? 0
    return recent.filter((change) => change.sequence > newest).reduce(withChange, fetched)
  }, [pages.data, state.recent, of])
  const actorOf = useActors(changes.map((change) => change.actorId))
  const statuses = useMemo(() => changeStatuses(changes), [changes])
  const diffs = useMemo(() => changeDiffs(changes), [changes])
  const nameOf = nodeNamer(state.canvas)

  return (
    <div className="graph-history">
      {node && (
        <Segmented
          label="Whose history"
          value={wholeGraph ? 'workspace' : 'node'}
          onChange={(value) => setWholeGraph(value === 'workspace')}
          options={[
            { value: 'node', label: 'This node' },
            { value: 'workspace', label: 'Workspace' },
          ]}
        />
      )}
      {pages.error && <ErrorNotice error={pages.error} compact onRetry={() => void pages.refetch()} />}
      {pages.isPending && <Skeleton lines={6} />}
      {pages.data && changes.length === 0 && (
        <Empty title="No commands yet">
          <p>All commands on nodes and edges are listed here and can be undone.</p>
        </Empty>
      )}
      <ol className="graph-changes-list">
        {changes.map((change) => (
          <Entry
            key={change.sequence}
            change={change}
            text={changeText(change, nameOf)}
            details={stepsText(change, nameOf)}
            actor={actorOf(change.actorId)}
            status={statuses.get(change.sequence) ?? 'in effect'}
            differences={diffs.get(change.sequence) ?? []}
            busy={busy}
            onCommand={onCommand}
            onShow={onShow}
          />
        ))}
      </ol>
      {pages.data && changes.length > 0 && (
        <MoreButton
          shown={changes.length}
          hasMore={pages.hasNextPage}
          busy={pages.isFetchingNextPage}
          onMore={() => void pages.fetchNextPage()}
        />
      )}
    </div>
  )
}

interface EntryProps {
  change: Change
  text: string
  /** The steps of a batch. */
  details: readonly string[]
  actor: string
  status: ChangeStatus
  differences: readonly Difference[]
  busy: boolean
  onCommand: (command: Command) => void
  onShow: (change: Change) => void
}

function Entry({ change, text, details, actor, status, differences, busy, onCommand, onShow }: EntryProps) {
  const undoable = status === 'in effect'
  const redoable = status === 'undone'
  const payload = { commandId: change.commandId }
  return (
    <li className={cx('graph-change', status === 'undone' && 'graph-change-undone')}>
      <div className="graph-change-head">
        <button
          type="button"
          className="graph-change-text"
          onClick={() => onShow(change)}
          disabled={affectedNodeIds(change).size === 0}
        >
          <bdi>{text}</bdi>
        </button>
        {(undoable || redoable) && (
          <Button
            size="s"
            variant="ghost"
            disabled={busy}
            icon={undoable ? <Undo2 size={14} /> : <Redo2 size={14} />}
            aria-label={`${undoable ? 'Undo' : 'Redo'}: ${text}`}
            onClick={() => onCommand({ type: undoable ? 'UNDO' : 'REDO', payload })}
          >
            {undoable ? 'Undo' : 'Redo'}
          </Button>
        )}
      </div>
      {details.length > 1 && (
        <ul className="graph-changes">
          {details.slice(0, MAX_STEPS).map((line, i) => (
            <li key={i}>
              <bdi>{line}</bdi>
            </li>
          ))}
          {details.length > MAX_STEPS && <li>and {num(details.length - MAX_STEPS)} more</li>}
        </ul>
      )}
      {differences.length > 0 && <DifferenceList differences={differences} />}
      <p className="graph-change-note">
        {status === 'undone' && <Badge>undone</Badge>} <Time at={change.at} /> · {actor} · #{change.sequence}
      </p>
    </li>
  )
}
