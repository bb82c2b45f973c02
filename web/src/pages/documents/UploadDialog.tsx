import { FolderOpen, Upload as UploadIcon } from 'lucide-react'
import { useRef } from 'react'

import { Button, Checkbox, CodeBlock, cx, Dialog, Field, Notice, num, plural, Progress } from '@/ui'

import { ACCEPTED, ACCEPTED_TEXT } from './kinds'
import { countsOf, countsText, isSendable, MAX_FILES, readable } from './queue'
import { TagInput } from './TagInput'
import { UploadRow } from './UploadRow'
import type { Uploads } from './useUploads'

/** Chooses files, and sends them as documents. */
export function UploadDialog({
  uploads,
  over,
  command,
  onOpen,
  onClose,
}: {
  uploads: Uploads
  /** Files are dragged over the window. */
  over: boolean
  /** The command that imports a directory. */
  command: string
  onOpen: (id: string) => void
  onClose: () => void
}) {
  const { list, running } = uploads
  const sendable = list.filter((item) => isSendable(item, list)).length
  const isDone = list.length > 0 && sendable === 0 && !running
  return (
    <Dialog
      open
      size="l"
      sticky={running}
      title="Upload documents"
      onClose={onClose}
      footer={
        running ? (
          <Button onClick={uploads.stop}>Stop</Button>
        ) : (
          <>
            <Button variant={isDone ? 'primary' : 'default'} onClick={onClose}>
              {isDone ? 'Done' : 'Cancel'}
            </Button>
            {!isDone && (
              <Button variant="primary" disabled={sendable === 0} onClick={uploads.start}>
                {sendable === 0 ? 'Upload' : `Upload ${plural(sendable, 'file')}`}
              </Button>
            )}
          </>
        )
      }
    >
      <div className="stack">
        {!running && <DropZone over={over} small={list.length > 0} onFiles={uploads.add} />}
        <UploadProgress uploads={uploads} />
        {uploads.omitted > 0 && (
          <Notice tone="warn" title={`${plural(uploads.omitted, 'file was', 'files were')} not added`}>
            <p>An upload has at most {num(MAX_FILES)} files. This command imports any number:</p>
            <CodeBlock label="Import a directory" code={command} />
          </Notice>
        )}
        {list.length > 0 && (
          <>
            <ul className="documents-uploads" aria-label="Files">
              {list.map((item) => (
                <UploadRow key={item.key} upload={item} uploads={uploads} onOpen={onOpen} />
              ))}
            </ul>
            <Field
              label="Tags of these documents"
              optional
              hint="They replace the tags of documents that exist already; without any, these keep their tags."
            >
              <TagInput value={uploads.tags} disabled={running} onChange={uploads.setTags} />
            </Field>
            <Checkbox
              label="Use the time of a file’s last change as the timestamp of its document"
              hint="Lists and searches can be restricted to a range of timestamps. Otherwise, documents that exist already keep theirs."
              checked={uploads.fileTimes}
              disabled={running}
              onChange={(e) => uploads.setFileTimes(e.target.checked)}
            />
          </>
        )}
      </div>
    </Dialog>
  )
}

function DropZone({
  over,
  small,
  onFiles,
}: {
  over: boolean
  small: boolean
  onFiles: (files: readonly File[]) => void
}) {
  const files = useRef<HTMLInputElement>(null)
  const folder = useRef<HTMLInputElement>(null)
  const take = (input: HTMLInputElement, some: (files: readonly File[]) => readonly File[]) => {
    onFiles(some([...(input.files ?? [])]))
    input.value = '' // so that the same file can be chosen again
  }
  return (
    <div className={cx('documents-drop', small && 'documents-drop-small', over && 'documents-drop-over')}>
      <p className="documents-drop-text">
        {over ? 'Drop the files now' : small ? 'Drop more files here, or' : 'Drop files here, or'}
      </p>
      <div className="row">
        <Button
          size={small ? 's' : 'm'}
          icon={<UploadIcon size={14} />}
          onClick={() => files.current?.click()}
        >
          Choose files
        </Button>
        <Button
          size={small ? 's' : 'm'}
          icon={<FolderOpen size={14} />}
          onClick={() => folder.current?.click()}
        >
          Choose a folder
        </Button>
      </div>
      {!small && <p className="field-hint">{ACCEPTED_TEXT}</p>}
      <input
        ref={files}
        hidden
        type="file"
        multiple
        accept={ACCEPTED}
        aria-label="Files"
        onChange={(e) => take(e.target, (all) => all)}
      />
      <input
        ref={folder}
        hidden
        type="file"
        {...{ webkitdirectory: '' }} // which React does not declare
        aria-label="Folder"
        onChange={(e) => take(e.target, readable)}
      />
    </div>
  )
}

/** How many files were sent, and what became of them. */
function UploadProgress({ uploads: { list, running } }: { uploads: Uploads }) {
  const { failed, left, created, updated, unchanged } = countsOf(list)
  const sent = created + updated + unchanged + failed
  if (running) {
    return (
      <div className="documents-progress" role="status">
        <span>
          {num(sent)} of {plural(sent + left, 'file')} sent
        </span>
        <Progress label="Files sent" value={sent} max={sent + left} />
      </div>
    )
  }
  if (sent === 0) return null
  return (
    <div role="status">
      <Notice tone={failed > 0 ? 'warn' : 'ok'} title={countsText(list)}>
        {failed > 0 && <p>Correct what is written below the files, and send them again.</p>}
        {created + updated > 0 && <p>Search finds new texts about a second after the upload.</p>}
      </Notice>
    </div>
  )
}
