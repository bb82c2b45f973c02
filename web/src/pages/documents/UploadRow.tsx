import { FileText, Pencil, X } from 'lucide-react'
import { useState } from 'react'

import { Badge, Button, bytes, Field, IconButton, Input, Progress, visible } from '@/ui'

import { kindOf } from './kinds'
import { isBusy, problemsOf, type Problems, type Upload } from './queue'
import type { Uploads } from './useUploads'

/** A file of an upload: its external id and title, its progress, and why it was not accepted. */
export function UploadRow({
  upload,
  uploads,
  onOpen,
}: {
  upload: Upload
  uploads: Uploads
  onOpen: (id: string) => void
}) {
  const { file, state } = upload
  const [editing, setEditing] = useState(false)
  const name = visible(file.name, 120)
  const problems = problemsOf(upload, uploads.list)
  const isFixed = isBusy(upload) || state.at === 'done'
  // A field with an error is shown, so that it can be corrected.
  const isOpen = !isFixed && !problems.file && (editing || Boolean(problems.externalId ?? problems.title))
  return (
    <li className="documents-upload">
      <div className="documents-upload-head">
        <FileText size={16} aria-hidden="true" />
        <div className="documents-upload-name">
          <bdi className="name name-strong" title={name}>
            {name}
          </bdi>
          <span className="muted nowrap">
            {kindOf(file.name)?.label ?? 'unknown type'} · {bytes(file.size)}
          </span>
        </div>
        <StateBadge upload={upload} problems={problems} />
        {state.at === 'done' && !uploads.running && (
          <Button size="s" aria-label={`Open ${name}`} onClick={() => onOpen(state.result.id)}>
            Open
          </Button>
        )}
        {!isFixed && !problems.file && (
          <IconButton
            size="s"
            label={`Change the id and title of ${name}`}
            aria-expanded={isOpen}
            onClick={() => setEditing(!editing)}
          >
            <Pencil size={14} />
          </IconButton>
        )}
        {!isFixed && !uploads.running && (
          <IconButton
            size="s"
            label={`Remove ${name} from the list`}
            onClick={() => uploads.remove(upload.key)}
          >
            <X size={14} />
          </IconButton>
        )}
      </div>
      {isOpen ? (
        <IdFields
          upload={upload}
          problems={problems}
          onChange={(change) => uploads.edit(upload.key, change)}
        />
      ) : (
        !problems.file && <Identity upload={upload} />
      )}
      {(state.at === 'reading' || state.at === 'sending') && (
        <Progress label={`Sending ${name}`} value={null} max={1} />
      )}
      {problems.file && <p className="field-error">{problems.file}</p>}
      {state.at === 'failed' && (
        <p className="field-error" role="alert">
          {state.reason}
        </p>
      )}
    </li>
  )
}

function Identity({ upload: { externalId, title, state } }: { upload: Upload }) {
  return (
    <p className="documents-identity muted">
      {state.at === 'done' && state.result.status === 'unchanged' ? (
        'Stored already with this content, title, tags and time: nothing changed.'
      ) : (
        <>
          <code>{visible(externalId)}</code> ·{' '}
          {title.trim() === '' ? 'title from the content' : <bdi>{visible(title, 160)}</bdi>}
        </>
      )}
    </p>
  )
}

function IdFields({
  upload,
  problems,
  onChange,
}: {
  upload: Upload
  problems: Problems
  onChange: (change: Partial<Pick<Upload, 'externalId' | 'title'>>) => void
}) {
  return (
    <div className="field-row">
      <Field
        label="External id"
        hint="Identifies the document at the next upload."
        error={problems.externalId}
      >
        <Input
          value={upload.externalId}
          spellCheck={false}
          onChange={(e) => onChange({ externalId: e.target.value })}
        />
      </Field>
      <Field
        label="Title"
        optional
        hint="Empty: the title in the content, or the external id."
        error={problems.title}
      >
        <Input value={upload.title} onChange={(e) => onChange({ title: e.target.value })} />
      </Field>
    </div>
  )
}

const TONES = { created: 'ok', updated: 'accent', unchanged: 'neutral' } as const

function StateBadge({ upload: { state }, problems }: { upload: Upload; problems: Problems }) {
  switch (state.at) {
    case 'done':
      return (
        <Badge tone={TONES[state.result.status]} dot>
          {state.result.status}
        </Badge>
      )
    case 'failed':
      return <Badge tone="bad">failed</Badge>
    case 'ready':
      if (problems.file) return <Badge tone="bad">not accepted</Badge>
      return Object.keys(problems).length > 0 ? <Badge tone="warn">to correct</Badge> : <Badge>ready</Badge>
    default:
      return <Badge tone={state.at === 'waiting' ? 'neutral' : 'accent'}>{state.at}</Badge>
  }
}
