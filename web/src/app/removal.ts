// Deleting one of a list: what all that do so have in common.

import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query'

import { api } from '@/api'
import { useToast } from '@/ui'

export interface Removal {
  /** Of what is deleted. */
  path: string
  /** The lists that it is in: they are asked for anew. */
  lists: QueryKey
  /** What is said once it is gone. */
  said: string
  more?: string
  /** Before anything is asked for anew: what shows it closes. */
  onDone: () => void
}

/** Deletes one thing, says so, and has its lists read again. */
export function useRemoval({ path, lists, said, more, onDone }: Removal) {
  const queries = useQueryClient()
  const toast = useToast()
  return useMutation({
    mutationFn: () => api.del<unknown>(path),
    onSuccess: async () => {
      onDone()
      toast.ok(said, more)
      await queries.invalidateQueries({ queryKey: lists })
    },
  })
}
