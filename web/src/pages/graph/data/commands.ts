// Sends graph commands, applies their results to the canvas and reports them. The caller shows the errors.

import { useMutation, useQueryClient } from '@tanstack/react-query'

import { useToast, visible } from '@/ui'

import { explainFailure, type Failure } from '../model/failures'
import type { Command, CommandResult } from '../model/types'
import { resourceKey, useShared } from '../parts/context'

const DONE: Record<Command['type'], string> = {
  CREATE_NODE: 'Node created',
  UPDATE_NODE: 'Node saved',
  DELETE_NODE: 'Node deleted',
  CREATE_EDGE: 'Edge created',
  UPDATE_EDGE: 'Edge saved',
  DELETE_EDGE: 'Edge deleted',
  UPSERT_NODE: 'Node saved',
  UPSERT_EDGE: 'Edge saved',
  UNDO: 'Undone',
  REDO: 'Redone',
}

export interface Runner {
  run: (command: Command) => Promise<CommandResult | null>
  busy: boolean
  /** Why the last command failed; null if it succeeded or is running. */
  failure: Failure | null
  /** The error of the last command, for form fields. */
  error: unknown
  reset: () => void
}

/** Runs commands. `run` returns null on failure; `failure` contains the reason. */
export function useRunner(): Runner {
  const { workspace, source, explorer } = useShared()
  const client = useQueryClient()
  const toast = useToast()
  const mutation = useMutation({
    mutationFn: (command: Command) => source.execute(command),
    onSuccess: (result, command) => {
      explorer.applyResult(result)
      const { node, edge } = result
      const name = node ? visible(node.name, 80) : edge ? visible(edge.relationType, 80) : undefined
      if (result.sequence === null) toast.info('Nothing changed', 'It already has this value.')
      else toast.ok(DONE[command.type], name)
      for (const id of [node?.id, edge?.sourceId, edge?.targetId]) {
        if (id) void client.invalidateQueries({ queryKey: resourceKey(workspace, id) })
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
