import { RotateCcw, Undo2 } from 'lucide-react'

import { Button, Name, Notice, useToast } from '@/ui'

import { explainFailure } from '../graph/model/failures'
import { useRestore } from './data'
import type { Removed } from './Details'

/** The deletion of a document, with its undo. */
export function Removal({
  removed,
  onRestored,
  onDismiss,
}: {
  removed: Removed
  onRestored: () => void
  onDismiss: () => void
}) {
  const restore = useRestore()
  const toast = useToast()
  const failure = restore.error ? explainFailure(restore.error) : null
  const undo = () =>
    restore.mutate(removed.commandId, {
      onSuccess: () => {
        toast.ok('Document restored', 'Its passages and edges are back.')
        onRestored()
      },
    })
  return (
    <Notice
      tone={failure ? 'warn' : 'ok'}
      title={failure ? failure.title : 'Document deleted'}
      actions={
        <>
          <Button
            size="s"
            icon={failure ? <RotateCcw size={14} /> : <Undo2 size={14} />}
            busy={restore.isPending}
            onClick={undo}
          >
            {failure ? 'Try again' : 'Undo'}
          </Button>
          <Button size="s" variant="ghost" onClick={onDismiss}>
            Dismiss
          </Button>
        </>
      }
    >
      <p role="status">{failure ? failure.text : <Name text={removed.title} max={200} />}</p>
    </Notice>
  )
}
