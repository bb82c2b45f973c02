import { Confirm, useToast, visible } from '@/ui'

import { useSourceWrites } from './data'
import { phraseOf } from './phrase'
import type { Source } from './shapes'

/** Deletes a source with its points after its name was typed. */
export function DeleteSource({
  source,
  onClose,
  onDone,
}: {
  source: Source
  onClose: () => void
  onDone?: () => void
}) {
  const { remove } = useSourceWrites()
  const toast = useToast()
  const name = visible(source.name, 120)
  return (
    <Confirm
      open
      danger
      title="Delete this source?"
      action="Delete the source and its points"
      phrase={phraseOf(source)}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() =>
        remove.mutate(source.id, {
          onSuccess: () => {
            toast.ok('Source deleted', name)
            onClose()
            onDone?.()
          },
        })
      }
    >
      <p>
        <b>{name}</b> and all its points are deleted at once, and no replay restores them. The name can be
        used again; the id cannot.
      </p>
    </Confirm>
  )
}
