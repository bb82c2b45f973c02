// A source of an answer: the node, its document, and the sentences in their context.

import { Network } from 'lucide-react'
import { Link } from 'react-router'

import { ButtonLink, cx, Name, visible } from '@/ui'

import { ENTITY_LABELS } from '../../graph/model/descriptions'
import { TypeIcon } from '../../graph/parts/TypeIcon'
import { passageOf, sourceId } from '../answers'
import type { Piece } from '../highlight'
import type { Citation, Sentence } from '../types'
import { DocumentLine } from './DocumentLine'
import { LiveValues } from './LiveValues'

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
  const to = `/graph?workspace=${encodeURIComponent(workspace)}&node=${encodeURIComponent(nodeId)}`
  const passage = description === undefined ? null : passageOf(description, sentences)
  return (
    <li
      id={sourceId(index)}
      tabIndex={-1}
      aria-label={`Source ${index + 1}: ${visible(name, 80)}`}
      className={cx('panel search-hit search-source', active && 'search-source-active')}
    >
      <header className="search-hit-head">
        <span className="search-number" aria-hidden="true">
          {index + 1}
        </span>
        <TypeIcon type={entityType} named size={18} />
        <h3>
          <Link to={to}>
            <Name text={name} strong />
          </Link>
        </h3>
        <span className="search-type muted">{ENTITY_LABELS[entityType]}</span>
        <ButtonLink
          size="s"
          variant="ghost"
          icon={<Network size={14} />}
          to={to}
          aria-label={`Open ${visible(name, 80)} in the graph`}
        >
          Graph
        </ButtonLink>
      </header>
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
