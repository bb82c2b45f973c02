// A search result: the node, the matches of the query, and the explanation.

import { useState } from 'react'

import { Button, num, plural, visible } from '@/ui'

import type { GraphNode } from '../../graph/model/types'
import { lanesOf, partsOf, percent, hitPathOf, type LaneScore, type Part } from '../explain'
import { highlight } from '../highlight'
import type { Hit } from '../types'
import { DocumentLine } from './DocumentLine'
import { LiveValues } from './LiveValues'
import { NodeHead } from './NodeHead'
import { PathGraph } from './PathGraph'

export interface ResultProps {
  hit: Hit
  rank: number
  words: readonly string[]
  names: ReadonlyMap<string, GraphNode>
  workspace: string
}

export function Result({ hit, rank, words, names, workspace }: ResultProps) {
  const { node } = hit
  const path = hitPathOf(hit)
  const parts = partsOf(hit.explanation ?? [])
  return (
    <li className="panel search-hit">
      <NodeHead
        workspace={workspace}
        id={node.id}
        name={node.name}
        entityType={node.entityType}
        heading="h2"
        number={
          <span className="search-rank" aria-hidden="true">
            {rank}
          </span>
        }
      />
      {hit.document && <DocumentLine workspace={workspace} nodeId={node.id} document={hit.document} />}
      {hit.snippet !== '' && (
        <p className="search-snippet" dir="auto">
          <Marked text={hit.snippet} words={words} />
        </p>
      )}
      <div className="search-why">
        <Scores score={hit.score} lanes={lanesOf(hit)} reranked={hit.rerankScore} />
        {parts.length > 0 && <ScoreParts parts={parts} />}
      </div>
      {path && <PathGraph path={path} names={names} workspace={workspace} hit={node.name} />}
      {hit.matchedChunk?.text !== undefined && (
        <Chunk text={hit.matchedChunk.text} index={hit.matchedChunk.index} words={words} />
      )}
      {hit.edges && hit.edges.length > 0 && (
        <p className="search-note">{plural(hit.edges.length, 'edge')} with other results of this page</p>
      )}
      {hit.liveData && hit.liveData.length > 0 && <LiveValues values={hit.liveData} />}
    </li>
  )
}

function Marked({ text, words }: { text: string; words: readonly string[] }) {
  return highlight(visible(text, 4000), words).map((piece, i) =>
    piece.hit ? <mark key={i}>{piece.text}</mark> : piece.text,
  )
}

/** The score and the scores of the lanes as bars of the same scale. */
function Scores({
  score,
  lanes,
  reranked,
}: {
  score: number
  lanes: readonly LaneScore[]
  reranked: number | undefined
}) {
  return (
    <dl className="search-scores">
      <Bar label="Score" value={score} kind="score" />
      {lanes.map(({ lane, label, score: value }) => (
        <Bar key={lane} label={label} value={value} kind={lane} />
      ))}
      {/* Its range depends on the model, so that it has no bar. */}
      {reranked !== undefined && (
        <div className="search-bar">
          <dt>Reranker</dt>
          <dd>
            <span />
            <span className="search-value">{num(reranked)}</span>
          </dd>
        </div>
      )}
    </dl>
  )
}

function Bar({ label, value, kind }: { label: string; value: number | null; kind: string }) {
  return (
    <div className={`search-bar search-bar-${kind}`}>
      <dt>{label}</dt>
      <dd>
        <span className="search-track" aria-hidden="true">
          <span className="search-fill" style={{ width: `${100 * (value ?? 0)}%` }} />
        </span>
        <span className="search-value">
          {value === null ? <span title="No result from this lane">not found</span> : value.toFixed(3)}
        </span>
      </dd>
    </div>
  )
}

/** The composition of the score: a segmented bar with a legend. */
function ScoreParts({ parts }: { parts: readonly Part[] }) {
  return (
    <figure className="search-shares">
      <figcaption className="field-label">Composition</figcaption>
      <div className="search-stack" aria-hidden="true">
        {parts.map((part, i) => (
          <span
            key={i}
            className={`search-part search-part-${part.kind}`}
            style={{ width: `${100 * part.share}%` }}
            title={part.label}
          />
        ))}
      </div>
      <ul>
        {parts.map((part, i) => (
          <li key={i}>
            <span className={`search-key search-part-${part.kind}`} aria-hidden="true" />
            <b>{percent(part.share)}</b> {part.label}: <bdi>{visible(part.detail, 160)}</bdi>
          </li>
        ))}
      </ul>
    </figure>
  )
}

const FOLDED_LENGTH = 320

function Chunk({ text, index, words }: { text: string; index: number; words: readonly string[] }) {
  const [open, setOpen] = useState(false)
  const long = text.length > FOLDED_LENGTH
  return (
    <blockquote className="search-chunk">
      <p className="field-label">Matched text, part {index + 1}</p>
      <p dir="auto">
        <Marked text={long && !open ? `${text.slice(0, FOLDED_LENGTH)}…` : text} words={words} />
      </p>
      {long && (
        <Button size="s" variant="ghost" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Show less' : 'Show all'}
        </Button>
      )}
    </blockquote>
  )
}
