import { ExternalLink, FileText } from 'lucide-react'
import { Link } from 'react-router'

import { Name, visible } from '@/ui'

import { webLinkOf } from '../answers'
import type { HitDocument } from '../types'

/** The document of a node, the page, and the address of the document if it is one of the web. */
export function DocumentLine({
  workspace,
  nodeId,
  document,
  sourceUrl,
}: {
  workspace: string
  nodeId: string
  document: HitDocument
  sourceUrl?: string | undefined
}) {
  const link = webLinkOf(sourceUrl)
  const page = `/documents?${new URLSearchParams({ workspace, id: document.id }).toString()}`
  return (
    <p className="search-document">
      <FileText size={14} aria-hidden="true" />
      {document.id === nodeId ? (
        <Link to={page}>Document</Link>
      ) : (
        <Link to={page}>
          <span className="sr-only">Passage of </span>
          <Name text={document.title} max={120} />
        </Link>
      )}
      {document.page !== undefined && <span className="muted">page {document.page}</span>}
      {link ? (
        <a href={link.href} target="_blank" rel="noopener noreferrer">
          <span className="search-address">{visible(link.label, 80)}</span>
          <ExternalLink size={12} aria-hidden="true" />
          <span className="sr-only"> opens in a new tab</span>
        </a>
      ) : (
        sourceUrl !== undefined && <span className="muted search-address">{visible(sourceUrl, 80)}</span>
      )}
    </p>
  )
}
