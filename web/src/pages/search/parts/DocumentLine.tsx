import { ExternalLink, FileText } from 'lucide-react'

import { Name, visible } from '@/ui'

import { webLinkOf } from '../answers'
import type { HitDocument } from '../types'

/** The document of a node, the page, and the address of the document if it is one of the web. */
export function DocumentLine({
  nodeId,
  document,
  sourceUrl,
}: {
  nodeId: string
  document: HitDocument
  sourceUrl?: string | undefined
}) {
  const link = webLinkOf(sourceUrl)
  return (
    <p className="search-document">
      <FileText size={14} aria-hidden="true" />
      {document.id === nodeId ? (
        <span>Document</span>
      ) : (
        <span>
          <span className="sr-only">Passage of </span>
          <Name text={document.title} max={120} />
        </span>
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
