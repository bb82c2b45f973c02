// An answer: its sentences, and the sources that they are from.

import { MessageSquareX } from 'lucide-react'
import { useState, type ReactNode } from 'react'

import { Badge, Button, CopyButton, cx, Empty, num, Panel, plural, visible } from '@/ui'

import { paragraphsOf, sourceId } from '../answers'
import type { Descriptions } from '../request'
import type { Answer, Citation, Generated, SearchMeta } from '../types'
import { Degraded } from './Degraded'
import { Source } from './Source'

export interface AnswerViewProps {
  answer: Answer
  descriptions: Descriptions
  meta: SearchMeta
  ms: number
  /** The response belongs to the previous request. */
  stale: boolean
  workspace: string
  /** Shows the results of hybrid search for the same form. */
  onSearch: () => void
}

export function AnswerView({ answer, descriptions, meta, ms, stale, workspace, onSearch }: AnswerViewProps) {
  const { citations, generated } = answer
  const [cited, setCited] = useState<number | null>(null)
  const cite = (citation: number) => {
    setCited(citation)
    const source = document.getElementById(sourceId(citation))
    source?.scrollIntoView({ block: 'nearest' })
    source?.focus({ preventScroll: true })
  }
  return (
    <section
      aria-label="Answer"
      aria-busy={stale}
      className={stale ? 'search-results search-stale' : 'search-results'}
    >
      <Degraded meta={meta} />
      <AnswerHead answer={answer} meta={meta} ms={ms} onSearch={onSearch} />
      <Panel
        title="Answer"
        note={originOf(answer)}
        actions={answer.answer !== null && <CopyButton text={answer.answer} label="Copy the answer" />}
      >
        <AnswerText answer={answer} hasMore={meta.hasMore} onCite={cite} />
      </Panel>
      {citations.length > 0 && (
        <>
          <h2 className="search-sources-title">{generated ? 'What the model has read' : 'Sources'}</h2>
          <ol className="search-list">
            {citations.map((citation, i) => (
              <Source
                key={citation.nodeId}
                index={i}
                citation={citation}
                sentences={answer.sentences.filter((sentence) => sentence.citation === i)}
                description={descriptions.get(citation.nodeId)}
                workspace={workspace}
                active={cited === i}
              />
            ))}
          </ol>
        </>
      )}
    </section>
  )
}

function AnswerHead({
  answer: { citations },
  meta,
  ms,
  onSearch,
}: Pick<AnswerViewProps, 'answer' | 'meta' | 'ms' | 'onSearch'>) {
  const read = Math.min(meta.total, meta.limit)
  return (
    <header className="search-head">
      <p role="status">
        <b>{plural(citations.length, 'source')}</b>{' '}
        <span className="muted">
          in {meta.hasMore ? `the first ${num(read)} of ` : ''}
          {plural(meta.total, 'result')}, {num(Math.max(1, Math.round(ms)))} ms
        </span>
      </p>
      {meta.total > 0 && (
        <Button size="s" onClick={onSearch}>
          Show the results
        </Button>
      )}
    </header>
  )
}

/** Describes who wrote an answer. */
function originOf({ answer, generated }: Answer): string | undefined {
  if (generated) return `written by ${visible(generated.model, 80)}`
  return answer === null ? undefined : 'quoted from the sources'
}

interface AnswerTextProps {
  answer: Answer
  /** There are results that were not read. */
  hasMore: boolean
  onCite: (citation: number) => void
}

function AnswerText({ answer, hasMore, onCite }: AnswerTextProps) {
  const { sentences, citations, generated } = answer
  if (answer.answer === null)
    return (
      <Empty icon={<MessageSquareX size={20} />} title="No sentence answers the question">
        <p>
          {citations.length > 0
            ? 'The model found no answer in the sources below.'
            : hasMore
              ? 'Ask in other words, or raise the number of results to read under “Response”.'
              : 'Ask in other words.'}
        </p>
      </Empty>
    )
  if (generated) return <GeneratedText generated={generated} citations={citations} onCite={onCite} />
  return (
    <div className="search-text">
      {paragraphsOf(sentences).map((paragraph, i) => (
        <p key={i} dir="auto">
          {paragraph.sentences.map((sentence, j) => (
            <Cited key={j} text={sentence.text} cited={[sentence.citation]} {...{ citations, onCite }} />
          ))}
        </p>
      ))}
    </div>
  )
}

interface GeneratedTextProps {
  generated: Generated
  citations: readonly Citation[]
  onCite: (citation: number) => void
}

function GeneratedText({ generated, citations, onCite }: GeneratedTextProps) {
  const { sentences, removedCitations, truncated } = generated
  const unsupported = sentences.filter((sentence) => !sentence.supported).length
  return (
    <div className="search-text">
      <p dir="auto">
        {sentences.map((sentence, i) => (
          <Cited
            key={i}
            text={sentence.text}
            cited={sentence.citations}
            {...{ citations, onCite }}
            unsupported={!sentence.supported}
          />
        ))}
      </p>
      <ul className="search-remarks">
        {unsupported > 0 && (
          <li>
            {plural(unsupported, 'sentence')} marked <Badge tone="warn">not in the sources</Badge>: the cited
            sources do not contain {unsupported === 1 ? 'it' : 'them'}. Words and numbers are compared, not
            logic.
          </li>
        )}
        {removedCitations.length > 0 && (
          <li>The model cited {plural(removedCitations.length, 'source')} that it was not given.</li>
        )}
        {truncated && <li>The text of the model was longer and was cut.</li>}
      </ul>
    </div>
  )
}

interface CitedProps {
  text: string
  cited: readonly number[]
  citations: readonly Citation[]
  onCite: (citation: number) => void
  unsupported?: boolean
}

/** A sentence with the marks of its sources, which lead to them. */
function Cited({ text, cited, citations, onCite, unsupported }: CitedProps): ReactNode {
  return (
    <span>
      <span className={cx(unsupported && 'search-unsupported')}>{visible(text, 2000)}</span>
      {cited.map((index) => (
        <a
          key={index}
          className="search-mark"
          href={`#${sourceId(index)}`}
          title={visible(citations[index]?.name ?? '', 80)}
          aria-label={`Source ${index + 1}: ${visible(citations[index]?.name ?? '', 80)}`}
          onClick={(event) => {
            event.preventDefault()
            onCite(index)
          }}
        >
          {index + 1}
        </a>
      ))}
      {unsupported && (
        <>
          {' '}
          <Badge tone="warn">not in the sources</Badge>
        </>
      )}{' '}
    </span>
  )
}
