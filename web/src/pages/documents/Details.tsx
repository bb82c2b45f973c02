import { ExternalLink, FileSearch, Network, Search, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { ApiError, MAX_TAGS } from '@/api'
import {
  Button,
  ButtonLink,
  Confirm,
  Copyable,
  Dialog,
  Empty,
  ErrorNotice,
  Facts,
  Name,
  num,
  plural,
  shortId,
  Skeleton,
  Time,
  visible,
} from '@/ui'

import { useLinkQuery } from '../sources/address'
import { useDocument, useRemove } from './data'
import { DocumentText } from './DocumentText'
import { Tags, TypeLabel } from './parts'
import { safeLink } from './text'
import type { Deletion, DocumentItem } from './types'

export interface Removed extends Deletion {
  title: string
}

/** A document beside the list: its fields, its text and its actions. */
export function Details({
  id,
  onClose,
  onRemoved,
}: {
  id: string
  onClose: () => void
  onRemoved: (removed: Removed) => void
}) {
  const [removing, setRemoving] = useState(false)
  const document = useDocument(id)
  const d = document.data
  const isMissing = document.error instanceof ApiError && document.error.status === 404
  return (
    <Dialog
      open
      side
      size="l"
      onClose={onClose}
      title={d ? <Name text={d.title} max={200} /> : 'Document'}
      footer={d && !isMissing && <Actions document={d} onDelete={() => setRemoving(true)} />}
    >
      {isMissing ? (
        <Empty title="Document not found" actions={<Button onClick={onClose}>Close</Button>}>
          <p>It was deleted, or belongs to another workspace.</p>
        </Empty>
      ) : (
        <>
          {document.isPending && <Skeleton lines={10} />}
          {document.error && <ErrorNotice error={document.error} onRetry={() => void document.refetch()} />}
          {d && (
            <div className="stack documents-details">
              <Facts items={factsOf(d)} />
              <section className="stack">
                <h3>
                  Text
                  {d.passageCount > 0 && (
                    <span className="panel-note"> in {plural(d.passageCount, 'passage')}</span>
                  )}
                </h3>
                <DocumentText document={d} />
              </section>
            </div>
          )}
        </>
      )}
      {d && removing && (
        <RemoveDocument
          document={d}
          onClose={() => setRemoving(false)}
          onRemoved={(deletion) => onRemoved({ ...deletion, title: d.title })}
        />
      )}
    </Dialog>
  )
}

function Actions({ document, onDelete }: { document: DocumentItem; onDelete: () => void }) {
  const linkQuery = useLinkQuery()
  const graph = linkQuery(new URLSearchParams({ node: document.id }))
  const search = linkQuery(
    new URLSearchParams({ node: document.id, hops: '1', q: document.title.slice(0, 200) }),
  )
  const inside = linkQuery(new URLSearchParams({ document: document.id }))
  return (
    <>
      <Button icon={<Trash2 size={14} />} onClick={onDelete}>
        Delete…
      </Button>
      <ButtonLink to={`/search${inside}`} icon={<FileSearch size={14} />}>
        Search in this document
      </ButtonLink>
      <ButtonLink to={`/search${search}`} icon={<Search size={14} />}>
        Search from here
      </ButtonLink>
      <ButtonLink to={`/graph${graph}`} icon={<Network size={14} />}>
        Open in the graph
      </ButtonLink>
    </>
  )
}

function factsOf(d: DocumentItem): Parameters<typeof Facts>[0]['items'] {
  const link = safeLink(d.sourceUrl)
  return [
    [
      'External id',
      <Copyable key="e" text={d.externalId} shown={visible(d.externalId)} label="Copy the external id" />,
    ],
    ['Type', <TypeLabel key="type" media={d.contentType} />],
    ['Tags', <Tags key="tags" tags={d.tags} max={MAX_TAGS} linked />],
    ['Timestamp', <Time key="time" at={d.timestamp} absolute none="not set" />],
    d.sourceUrl !== null && [
      'Source',
      link ? (
        <a key="source" className="documents-source" href={link} target="_blank" rel="noopener noreferrer">
          <span className="name">{visible(link)}</span>{' '}
          <ExternalLink size={12} aria-label="opens in a new tab" />
        </a>
      ) : (
        <Name key="source" text={d.sourceUrl} />
      ),
    ],
    ['Revision', num(d.revision)],
    ['Updated', <Time key="updated" at={d.updatedAt} />],
    ['Created', <Time key="created" at={d.createdAt} />],
    ['Node', <Copyable key="node" text={d.id} shown={shortId(d.id)} label="Copy the id of the node" />],
  ]
}

function RemoveDocument({
  document: d,
  onClose,
  onRemoved,
}: {
  document: DocumentItem
  onClose: () => void
  onRemoved: (deletion: Deletion) => void
}) {
  const remove = useRemove(onRemoved)
  return (
    <Confirm
      open
      danger
      title="Delete this document?"
      action="Delete document"
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => remove.mutate(d.id)}
    >
      <p>
        <b>
          <Name text={d.title} max={120} />
        </b>
        {d.passageCount > 0 && ` with its ${plural(d.passageCount, 'passage')}`} and their edges are deleted,
        and search no longer finds them.
      </p>
      <p>You can undo it: on this page afterwards, or later in the history of the graph.</p>
    </Confirm>
  )
}
