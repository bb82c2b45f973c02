// The documents of a workspace: the list, one document, and uploads.

import './documents.css'

import { FileText, Upload } from 'lucide-react'
import { useState } from 'react'

import { useWorkspace } from '@/app/workspace'
import {
  Button,
  CodeBlock,
  Empty,
  ErrorNotice,
  Name,
  num,
  Page,
  Pager,
  Panel,
  plural,
  Table,
  Time,
  visible,
  type Column,
} from '@/ui'

import { usePageParams } from '../sources/address'
import { changeFilter, isFiltered, NO_FILTER, readView, writeView, type View } from './address'
import { useDocuments } from './data'
import { Details, type Removed } from './Details'
import { Filters, Order } from './Filters'
import { ACCEPTED_TEXT } from './kinds'
import { IndexNote, Tags, TypeLabel } from './parts'
import { Removal } from './Removal'
import type { DocumentItem } from './types'
import { UploadDialog } from './UploadDialog'
import { useFileDrop } from './useFileDrop'
import { useUploads } from './useUploads'

const COLUMNS: readonly Column<DocumentItem>[] = [
  { id: 'title', head: 'Title', primary: true, cell: (d) => <Name text={d.title} strong /> },
  {
    id: 'externalId',
    head: 'External id',
    cell: (d) => (
      <code className="name" title={visible(d.externalId)}>
        {visible(d.externalId, 160)}
      </code>
    ),
  },
  { id: 'type', head: 'Type', narrow: true, cell: (d) => <TypeLabel media={d.contentType} /> },
  { id: 'tags', head: 'Tags', cell: (d) => <Tags tags={d.tags} /> },
  {
    id: 'timestamp',
    head: 'Timestamp',
    narrow: true,
    wide: true,
    cell: (d) => <Time at={d.timestamp} absolute />,
  },
  {
    id: 'passages',
    head: 'Passages',
    numeric: true,
    narrow: true,
    cell: (d) =>
      d.passageCount === 0 ? <span title="A short text: it is not split">–</span> : num(d.passageCount),
  },
  { id: 'updated', head: 'Updated', narrow: true, cell: (d) => <Time at={d.updatedAt} /> },
]

export default function DocumentsPage() {
  const [params, write] = usePageParams()
  const view = readView(params)
  const uploads = useUploads()
  const [removed, setRemoved] = useState<Removed | null>(null)
  const workspace = useWorkspace().id
  const command = `livegraph documents import DIR \\\n  --workspace ${workspace}`
  const set = (change: Partial<View>, how?: { push?: boolean }) =>
    write(writeView({ ...view, ...change }), how)
  const startUpload = () => set({ open: '', uploading: true }, { push: true })
  const over = useFileDrop((files) => {
    if (uploads.running) return
    uploads.add(files)
    if (!view.uploading) startUpload()
  })
  const closeUpload = (change: Partial<View> = {}) => {
    uploads.clear()
    set({ uploading: false, ...change })
  }
  return (
    <Page
      title="Documents"
      lead="Texts and files whose passages search finds. Each is a node of the graph."
      actions={
        <Button variant="primary" icon={<Upload size={16} />} onClick={startUpload}>
          Upload
        </Button>
      }
    >
      {removed && (
        <Removal
          key={removed.commandId}
          removed={removed}
          onRestored={() => setRemoved(null)}
          onDismiss={() => setRemoved(null)}
        />
      )}
      <DocumentList view={view} command={command} over={over} onChange={set} onUpload={startUpload} />
      {view.open && (
        <Details
          key={view.open}
          id={view.open}
          onClose={() => set({ open: '' })}
          onRemoved={(deletion) => {
            setRemoved(deletion)
            set({ open: '' })
          }}
        />
      )}
      {view.uploading && (
        <UploadDialog
          uploads={uploads}
          over={over}
          command={command}
          onOpen={(id) => closeUpload({ open: id })}
          onClose={() => closeUpload()}
        />
      )}
    </Page>
  )
}

function DocumentList({
  view,
  command,
  over,
  onChange,
  onUpload,
}: {
  view: View
  command: string
  over: boolean
  onChange: (change: Partial<View>, how?: { push?: boolean }) => void
  onUpload: () => void
}) {
  const list = useDocuments(view)
  const filtered = isFiltered(view)
  const total = list.data?.meta.total
  const isEmpty = total === 0 && !filtered
  return (
    <>
      {!isEmpty && (
        <Filters
          filter={view}
          error={list.error}
          onChange={(change) => onChange({ ...changeFilter(view, change), offset: 0 })}
        />
      )}
      {list.error && <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />}
      {!(list.error && !list.data) && (
        <Panel
          flush
          className={over && !view.uploading ? 'documents-drop-over' : undefined}
          title={isEmpty ? undefined : total === undefined ? 'Documents' : plural(total, 'document')}
          note={filtered && !isEmpty ? 'that match' : undefined}
          actions={
            !isEmpty && (
              <>
                <IndexNote />
                <Order sort={view.sort} onSort={(sort) => onChange({ sort, offset: 0 })} />
              </>
            )
          }
        >
          <Table
            label="Documents"
            columns={COLUMNS}
            rows={list.data?.data}
            rowKey={(d) => d.id}
            loading={list.isPending}
            stale={list.isPlaceholderData}
            selected={view.open || null}
            onOpen={(d) => onChange({ open: d.id }, { push: true })}
            empty={
              filtered ? (
                <NoMatch onClear={() => onChange({ ...NO_FILTER, offset: 0 })} />
              ) : view.offset > 0 ? (
                <Empty
                  title="No documents on this page"
                  actions={<Button onClick={() => onChange({ offset: 0 })}>First page</Button>}
                />
              ) : (
                <NoDocuments command={command} onUpload={onUpload} />
              )
            }
          />
          {list.data && (total ?? 0) > list.data.meta.limit && (
            <Pager meta={list.data.meta} onOffset={(offset) => onChange({ offset })} what="documents" />
          )}
        </Panel>
      )}
    </>
  )
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty title="No matching documents" actions={<Button onClick={onClear}>Clear filters</Button>}>
      <p>
        External ids and tags are compared as a whole, with case. A document without a timestamp is in no
        range of time.
      </p>
    </Empty>
  )
}

function NoDocuments({ command, onUpload }: { command: string; onUpload: () => void }) {
  return (
    <Empty
      icon={<FileText size={20} />}
      title="No documents yet"
      actions={
        <Button variant="primary" icon={<Upload size={16} />} onClick={onUpload}>
          Upload files
        </Button>
      }
    >
      <p>
        Drop files anywhere on this page, or import a directory by the command line. Their texts are split
        into passages, which search finds, and linked to the nodes that they mention.
      </p>
      <CodeBlock label="Import a directory" code={command} />
      <p className="field-hint">{ACCEPTED_TEXT}</p>
    </Empty>
  )
}
