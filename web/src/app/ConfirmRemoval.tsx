import { useMutation, useQueryClient, type QueryKey } from '@tanstack/react-query'

import { api } from '@/api'
import { Confirm, useToast, type ConfirmProps } from '@/ui'

interface ConfirmRemovalProps extends Omit<ConfirmProps, 'danger' | 'onConfirm' | 'busy' | 'error'> {
  /** The path of the deleted resource. */
  path: string
  /** Id of the workspace, for a resource of one workspace. */
  workspace?: string
  /** The query key of the lists that contain it. They are fetched again. */
  lists: QueryKey
  /** The title of the message after the deletion. */
  successTitle: string
  successText?: string
  /** Called after the deletion, before the lists are fetched again. It closes the view of the resource. */
  onDone: () => void
}

/** Asks for confirmation, deletes a resource, shows a message, and fetches its lists again. */
export function ConfirmRemoval({
  path,
  workspace,
  lists,
  successTitle,
  successText,
  onDone,
  ...confirmProps
}: ConfirmRemovalProps) {
  const queries = useQueryClient()
  const toast = useToast()
  const remove = useMutation({
    mutationFn: () => api.del<unknown>(path, { workspace }),
    onSuccess: async () => {
      onDone()
      toast.ok(successTitle, successText)
      await queries.invalidateQueries({ queryKey: lists })
    },
  })
  return (
    <Confirm
      {...confirmProps}
      danger
      onConfirm={() => remove.mutate()}
      busy={remove.isPending}
      error={remove.error}
    />
  )
}
