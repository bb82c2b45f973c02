import { Link } from 'react-router'

import { Badge, Dot, plural, visible } from '@/ui'

import { useLinkQuery } from '../sources/address'
import { isIndexing, useIndexStatus } from './data'
import { labelOf } from './kinds'

/** The type of the content. */
export const TypeLabel = ({ media }: { media: string }) => (
  <span className="nowrap" title={visible(media, 120)}>
    {visible(labelOf(media), 60)}
  </span>
)

/** The first tags, and the number of further ones. With `linked`, each leads to the documents with this tag. */
export function Tags({ tags, max = 3, linked }: { tags: readonly string[]; max?: number; linked?: boolean }) {
  const linkQuery = useLinkQuery()
  if (tags.length === 0) return <span className="muted">–</span>
  const rest = tags.slice(max)
  return (
    <span className="documents-tags">
      {tags.slice(0, max).map((tag) => {
        const text = <bdi className="name">{visible(tag, 80)}</bdi>
        return linked ? (
          <Link
            key={tag}
            className="documents-tag"
            to={`/documents${linkQuery(new URLSearchParams({ tag }))}`}
          >
            {text}
          </Link>
        ) : (
          <span key={tag} className="documents-tag">
            {text}
          </span>
        )
      })}
      {rest.length > 0 && (
        <span className="muted nowrap" title={visible(rest.join(', '), 300)}>
          +{rest.length}
        </span>
      )}
    </span>
  )
}

/** Whether search finds everything that was uploaded. */
export function IndexNote() {
  const status = useIndexStatus().data
  if (!status) return null
  if (status.status === 'degraded') {
    return (
      <Link to="/indexes" className="documents-index">
        <Badge tone="warn" dot>
          search is degraded
        </Badge>
      </Link>
    )
  }
  if (!isIndexing(status)) {
    return (
      <span
        className="documents-index"
        title="Search finds all nodes of the workspace, and mentions are linked"
      >
        <Dot tone="ok" /> indexed
      </span>
    )
  }
  const waiting = Math.max(status.nodes.pending, status.lag.events, status.text.lag.events)
  return (
    <span className="documents-index" title="New texts are found and linked in a moment">
      <Dot tone="accent" pulse />
      {waiting > 0
        ? `${plural(waiting, 'node')} being indexed`
        : `${plural(status.links.pending, 'node')} being linked`}
    </span>
  )
}
