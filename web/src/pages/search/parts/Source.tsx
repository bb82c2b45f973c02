// A source of an answer: the node, its document, and the sentences in their context.

import { cx, visible } from '@/ui'

import { passageOf, sourceId } from '../answers'
import type { Piece } from '../highlight'
import type { Citation, Sentence } from '../types'
import { DocumentLine } from './DocumentLine'
import { LiveValues } from './LiveValues'
import { NodeHead } from './NodeHead'

interface SourceProps {
  /** The index of the citation. */
  index: number
  citation: Citation
  /** Its sentences. */
  sentences: readonly Sentence[]
  /** The description of the node; undefined if it could not be read. */
  description: string | undefined
  workspace: string
  /** Its mark was followed last. */
  active: boolean
}

export function Source({ index, citation, sentences, description, workspace, active }: SourceProps) {
  const { nodeId, name, entityType, document, sourceUrl, liveData } = citation
  const passage = description === undefined ? null : passageOf(description, sentences)
  return (
    <li
      id={sourceId(index)}
      tabIndex={-1}
      aria-label={`Source ${index + 1}: ${visible(name, 80)}`}
      className={cx('panel search-hit search-source', active && 'search-source-active')}
    >
      <NodeHead
        workspace={workspace}
        id={nodeId}
        name={name}
        entityType={entityType}
        heading="h3"
        number={
          <span className="search-number" aria-hidden="true">
            {index + 1}
          </span>
        }
      />
      {document && <DocumentLine {...{ workspace, nodeId, document, sourceUrl }} />}
      <blockquote className="search-passage" dir="auto">
        {passage ? <Passage pieces={passage} /> : <Quotes sentences={sentences} />}
      </blockquote>
      {description !== undefined && passage === null && (
        <p className="search-note">The text was changed after the answer.</p>
      )}
      {liveData && liveData.length > 0 && <LiveValues values={liveData} />}
    </li>
  )
}

function Passage({ pieces }: { pieces: readonly Piece[] }) {
  return pieces.map((piece, i) => {
    const text = visible(piece.text, 4000)
    return piece.hit ? <mark key={i}>{text}</mark> : text
  })
}

function Quotes({ sentences }: { sentences: readonly Sentence[] }) {
  return sentences.map(({ text }, i) => <p key={i}>{visible(text, 2000)}</p>)
}
