import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query'

import { api } from '@/api'
import { Confirm, useToast, type ConfirmProps } from '@/ui'

interface ConfirmRemovalProps extends Omit<ConfirmProps, 'danger' | 'onConfirm' | 'busy' | 'error'> {
  /** Of what is deleted. */
  path: string
  /** The lists that it is in: they are asked for anew. */
  lists: QueryKey
  /** What is said once it is gone. */
  said: string
  more?: string
  /** Then, before anything is asked for anew: what shows it closes. */
  onDone: () => void
}

/** Asks, deletes one of a list, says so, and has the list read again. */
export function ConfirmRemoval({ path, lists, said, more, onDone, ...asking }: ConfirmRemovalProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const remove = useMutation({
    mutationFn: () => api.del<unknown>(path),
    onSuccess: async () => {
      onDone()
      toast.ok(said, more)
      await queries.invalidateQueries({ queryKey: lists })
    },
  })
  return (
    <Confirm
      {...asking}
      danger
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      error={remove.error}
    />
  )
}
