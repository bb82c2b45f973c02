import { Link } from 'react-router'

import { ErrorNotice, Skeleton } from '@/ui'

import { useLinkQuery } from '../sources/address'
import { useShortText } from './data'
import { pageWord } from './kinds'
import { paragraphs, placeOf } from './text'
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
  return text ? <Paragraphs text={text} /> : <p className="muted">The document has no text.</p>
}

function Passages({ document }: { document: DocumentItem }) {
  const linkQuery = useLinkQuery()
  const word = pageWord(document.contentType)
  return (
    <ol className="documents-passages">
      {document.passages?.map((passage) => {
        const place = placeOf(passage, word)
        return (
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
              {place && (
                <p className="documents-place">
                  <bdi>{place}</bdi>
                </p>
              )}
              <Paragraphs text={passage.text} />
            </div>
          </li>
        )
      })}
    </ol>
  )
}

function Paragraphs({ text }: { text: string }) {
  return (
    <div className="documents-text">
      {paragraphs(text).map((item, i) => (
        <p key={i} dir="auto">
          {item}
        </p>
      ))}
    </div>
  )
}
