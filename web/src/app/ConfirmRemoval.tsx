import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query'

import { api } from '@/api'
import { Confirm, useToast, type ConfirmProps } from '@/ui'

interface ConfirmRemovalProps extends Omit<ConfirmProps, 'danger' | 'onConfirm' | 'busy' | 'error'> {
  /** Of what is deleted. */
  path: string
  /** The lists that contain it. They are fetched again. */
  lists: QueryKey
  /** What is said once it is gone. */
  said: string
  more?: string
  /** Runs first, before lists are fetched again, and closes the view of it. */
  onDone: () => void
}

/** Asks for confirmation, deletes an item of a list, reports it, and fetches the list again. */
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
