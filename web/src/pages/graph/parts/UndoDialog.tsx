// A refused undo or redo: its conflicts, their actors, and the options.

import { useQueries } from '@tanstack/react-query'

import { api } from '@/api'
import { Button, Dialog, Loading, shortId, visible } from '@/ui'

import { blockingCommands, type Failure } from '../model/failures'
import type { Canvas } from '../model/canvas'
import type { Command, CommandResult } from '../model/types'
import { useShared } from './context'
import { FailureNotice } from './FailureNotice'

interface CommandState {
  commandId: string
  status: 'pending' | 'applied' | 'failed'
  result?: CommandResult | { batchId: string }
}

/** The maximum number of blocking commands that are looked up. */
const MAX_BLOCKERS = 5

export interface UndoDialogProps {
  failure: Failure
  /** The refused command. */
  command: Command
  canvas: Canvas
  busy: boolean
  onRun: (command: Command) => void
  onClose: () => void
}

export function UndoDialog({ failure, command, canvas, busy, onRun, onClose }: UndoDialogProps) {
  const { workspace } = useShared()
  const ids = blockingCommands(failure.conflicts)
  const asked = useQueries({
    queries: ids.slice(0, MAX_BLOCKERS).map((id) => ({
      queryKey: ['graph', workspace, 'command', id],
      queryFn: ({ signal }: { signal: AbortSignal }) =>
        api.get<CommandState>(`/commands/${id}`, { workspace, signal }),
      retry: false, // commands are kept for a day
    })),
  })
  const verb = command.type === 'UNDO' ? 'undo' : 'redo'
  const nameOf = (id: string) => {
    const node = canvas.nodes.get(id)?.node.name
    return node ?? canvas.edges.get(id)?.relationType ?? null
  }
  return (
    <Dialog
      open
      onClose={onClose}
      title={`It cannot be ${command.type === 'UNDO' ? 'undone' : 'redone'} now`}
      footer={
        <>
          <Button onClick={onClose}>Close</Button>
          <Button busy={busy} onClick={() => onRun(command)}>
            Try again
          </Button>
        </>
      }
    >
      <div className="stack">
        <FailureNotice failure={failure} nameOf={nameOf} />
        {ids.length > 0 && (
          <>
            <p>
              Undo the conflicting commands first, the newest first, and then {verb} this command again. Or
              edit the nodes and edges by hand.
            </p>
            {asked.some((item) => item.isPending) && <Loading what="Loading the commands" />}
            <ul className="graph-blockers">
              {ids.map((id, i) => (
                <li key={id}>
                  <span>{blockerText(id, asked[i]?.data)}</span>
                  <Button
                    size="s"
                    busy={busy}
                    aria-label={`Undo the command ${shortId(id)}`}
                    onClick={() => onRun({ type: 'UNDO', payload: { commandId: id } })}
                  >
                    Undo it
                  </Button>
                </li>
              ))}
            </ul>
          </>
        )}
      </div>
    </Dialog>
  )
}

const WORDS: Record<string, string> = {
  CREATE_NODE: 'Creation of a node',
  UPDATE_NODE: 'Change of a node',
  DELETE_NODE: 'Deletion of a node',
  CREATE_EDGE: 'Creation of an edge',
  UPDATE_EDGE: 'Change of an edge',
  DELETE_EDGE: 'Deletion of an edge',
  UNDO: 'An undo',
  REDO: 'A redo',
}

function blockerText(id: string, state: CommandState | undefined): string {
  const result = state?.result
  if (!result) return `Command ${shortId(id)}`
  if (!('type' in result)) return `A batch, ${shortId(id)}`
  const what = WORDS[result.type] ?? 'A command'
  const name = result.node?.name ?? result.edge?.relationType
  return name ? `${what}: “${visible(name, 80)}”` : `${what}, ${shortId(id)}`
}
