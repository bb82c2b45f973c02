// Sends commands on the graph, applies them to the canvas and reports them. Errors are shown where the command was given.

import { useMutation, useQueryClient } from '@tanstack/react-query'

import { useToast, visible } from '@/ui'

import { explainFailure, type Failure } from '../model/failures'
import type { Command, CommandResult } from '../model/types'
import { aroundKey, useShared } from '../parts/context'

const DONE: Record<Command['type'], string> = {
  CREATE_NODE: 'Node created',
  UPDATE_NODE: 'Node saved',
  DELETE_NODE: 'Node deleted',
  CREATE_EDGE: 'Edge created',
  UPDATE_EDGE: 'Edge saved',
  DELETE_EDGE: 'Edge deleted',
  UNDO: 'Undone',
  REDO: 'Redone',
}

export interface Runner {
  run: (command: Command) => Promise<CommandResult | null>
  busy: boolean
  /** Why the last one did not work; null: it did, or is under way. */
  failure: Failure | null
  /** The last one's error, for the fields of forms. */
  error: unknown
  reset: () => void
}

/** Runs commands. `run` returns null on failure; `failure` has the reason. */
export function useRunner(): Runner {
  const { workspace, source, explorer } = useShared()
  const client = useQueryClient()
  const toast = useToast()
  const mutation = useMutation({
    mutationFn: (command: Command) => source.execute(command),
    onSuccess: (result, command) => {
      explorer.applied(result)
      const { node, edge } = result
      const name = node ? visible(node.name, 80) : edge ? visible(edge.relationType, 80) : undefined
      if (result.sequence === null) toast.info('Nothing changed', 'It already has this value.')
      else toast.ok(DONE[command.type], name)
      for (const id of [node?.id, edge?.sourceId, edge?.targetId]) {
        if (id) void client.invalidateQueries({ queryKey: aroundKey(workspace, id) })
      }
    },
  })
  return {
    run: async (command) => {
      try {
        return await mutation.mutateAsync(command)
      } catch {
        return null
      }
    },
    busy: mutation.isPending,
    failure: mutation.error ? explainFailure(mutation.error) : null,
    error: mutation.error,
    reset: () => mutation.reset(),
  }
}
