import { Link } from 'react-router'

import { ErrorNotice, Skeleton, visible } from '@/ui'

import { useLinkQuery } from '../sources/address'
import { useShortText } from './data'
import { pageWord } from './kinds'
import { paragraphs, shownPassages, type Paragraph } from './text'
import type { DocumentItem } from './types'

/** The text of a document: its passages in order, or the description of its node if it is short. */
export function DocumentText({ document }: { document: DocumentItem }) {
  return document.passageCount === 0 ? <ShortText document={document} /> : <Passages document={document} />
}

function ShortText({ document }: { document: DocumentItem }) {
  const node = useShortText(document)
  if (node.error) return <ErrorNotice error={node.error} onRetry={() => void node.refetch()} />
  if (!node.data) return <Skeleton lines={4} />
  const text = node.data.description
  return text ? <Paragraphs list={paragraphs(text)} /> : <p className="muted">The document has no text.</p>
}

function Passages({ document }: { document: DocumentItem }) {
  const linkQuery = useLinkQuery()
  const word = pageWord(document.contentType)
  return (
    <ol className="documents-passages">
      {shownPassages(document.passages ?? []).map(({ passage, paragraphs, heading, page }) => (
        <li key={passage.id} className="documents-passage">
          <Link
            className="documents-number"
            to={`/graph${linkQuery(new URLSearchParams({ node: passage.id }))}`}
            title="Open this passage in the graph"
            aria-label={`Passage ${passage.index + 1} in the graph`}
          >
            {passage.index + 1}
          </Link>
          <div>
            {(heading !== null || page !== null) && (
              <p className="documents-section">
                {heading !== null && <bdi className="documents-heading">{visible(heading, 300)}</bdi>}
                {page !== null && (
                  <span className="documents-page">
                    {word} {page}
                  </span>
                )}
              </p>
            )}
            <Paragraphs list={paragraphs} />
          </div>
        </li>
      ))}
    </ol>
  )
}

function Paragraphs({ list }: { list: readonly Paragraph[] }) {
  return (
    <div className="documents-text">
      {list.map((item, i) => (
        <p key={i} dir="auto" className={item.isHeading ? 'documents-heading' : undefined}>
          {item.text}
        </p>
      ))}
    </div>
  )
}
