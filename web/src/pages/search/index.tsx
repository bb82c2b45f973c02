// The search playground: both searches with all their options, and an explanation of each hit.

import './search.css'

import { useQuery } from '@tanstack/react-query'
import { Network, SearchX } from 'lucide-react'
import { useRef, useState } from 'react'
import { useSearchParams } from 'react-router'

import { api, type List, type Options } from '@/api'
import { useWorkspace } from '@/app/workspace'
import {
  ButtonLink,
  CodeBlock,
  Empty,
  ErrorNotice,
  Notice,
  num,
  Page,
  Pager,
  Panel,
  plural,
  Skeleton,
} from '@/ui'

import type { GraphNode } from '../graph/model/types'
import { curlOf } from './curl'
import { idsToName, degradedText } from './explain'
import { bodyOf, checkForm, formOf, paramsOf, pathOf, type Form, type Mode } from './form'
import { BESIDE, FormPanel } from './parts/FormPanel'
import { Result } from './parts/Result'
import { wordsOf } from './highlight'
import type { Hit, SearchAnswer, SearchMeta } from './types'

export default function SearchPage() {
  const { id: workspace } = useWorkspace()
  const [params, setParams] = useSearchParams()
  const answer = useRef<HTMLDivElement>(null)
  const asked = formOf(params)
  const offset = Math.max(0, Number(params.get('offset') ?? 0) || 0)
  const address = params.toString()
  const [draft, setDraft] = useState<{ of: string; form: Form }>({ of: address, form: asked })
  // A changed URL, by a link or the back button, replaces the form.
  const form = draft.of === address ? draft.form : asked
  const edit = (next: Form) => setDraft({ of: address, form: next })
  const errors = checkForm(asked)
  const ready = Object.keys(errors).length === 0
  const body = bodyOf(asked, offset)

  const search = useQuery({
    queryKey: ['search', workspace, asked.mode, body],
    queryFn: ({ signal }) => ask(asked.mode, { workspace, body, signal }),
    enabled: ready,
    placeholderData: (before) => before,
    staleTime: Infinity,
    gcTime: 60_000,
  })
  const send = (next: Form, from = 0) => {
    const after = paramsOf(next, params)
    if (from > 0) after.set('offset', String(from))
    else after.delete('offset')
    if (after.toString() === address) void search.refetch()
    else setParams(after)
    if (!window.matchMedia(BESIDE).matches) answer.current?.scrollIntoView()
  }

  return (
    <Page title="Search" lead="Try both searches and see the explanation of each result.">
      <div className="search-page">
        <FormPanel form={form} onChange={edit} onSend={() => send(form)} busy={search.isFetching} />
        <div className="search-answer" ref={answer}>
          {search.error && ready ? (
            <ErrorNotice error={search.error} onRetry={() => void search.refetch()}>
              {asked.mode === 'search' && (
                <p>Hybrid search uses words and the graph while the vector index is unavailable.</p>
              )}
            </ErrorNotice>
          ) : !ready ? (
            <Hint />
          ) : !search.data ? (
            <Panel title="Results">
              <Skeleton lines={8} />
            </Panel>
          ) : (
            <Results
              form={asked}
              answer={search.data.answer}
              ms={search.data.ms}
              stale={search.isPlaceholderData}
              workspace={workspace}
              onOffset={(from) => send(asked, from)}
            />
          )}
          {ready && (
            <Panel title="The request" note="with an API key in $LIVEGRAPH_API_KEY">
              <CodeBlock
                code={curlOf(window.location.origin, pathOf(asked.mode), workspace, body)}
                label="The request as a command"
              />
            </Panel>
          )}
        </div>
      </div>
    </Page>
  )
}

/** Sends a search and measures its duration. */
async function ask(mode: Mode, options: Options): Promise<{ answer: SearchAnswer; ms: number }> {
  const began = performance.now()
  const answer = (await api.search<Hit>(pathOf(mode), options)) as SearchAnswer
  return { answer, ms: performance.now() - began }
}

function Hint() {
  return (
    <Panel>
      <Empty title="Search nodes">
        <p>
          Use words or a whole question. Hybrid search also follows edges, so it answers “what runs on the
          machine with the full disk?”.
        </p>
      </Empty>
    </Panel>
  )
}

interface ResultsProps {
  form: Form
  answer: SearchAnswer
  ms: number
  /** The response belongs to the previous request. */
  stale: boolean
  workspace: string
  onOffset: (offset: number) => void
}

function Results({ form, answer, ms, stale, workspace, onOffset }: ResultsProps) {
  const { data: hits, meta } = answer
  const names = useNames(workspace, hits)
  const words = wordsOf(form.query)
  const ids = hits.map((hit) => hit.node.id)
  const nodes = new URLSearchParams([['workspace', workspace], ...ids.map((id) => ['node', id])])
  return (
    <section
      aria-label="Results"
      aria-busy={stale}
      className={stale ? 'search-results search-stale' : 'search-results'}
    >
      <Degraded meta={meta} />
      <header className="search-head">
        <p role="status">
          <b>{plural(meta.total, 'result')}</b>{' '}
          <span className="muted">
            {meta.total >= 1000 && '(that were ranked) '}in {num(Math.max(1, Math.round(ms)))} ms
          </span>
        </p>
        {hits.length > 0 && (
          <ButtonLink size="s" icon={<Network size={14} />} to={`/graph?${nodes.toString()}`}>
            Show {hits.length === 1 ? 'it' : `all ${num(hits.length)}`} in the graph
          </ButtonLink>
        )}
      </header>
      {hits.length === 0 ? (
        <Panel>
          <NoResults form={form} beyond={meta.offset > 0} />
        </Panel>
      ) : (
        <ol className="search-list" start={meta.offset + 1}>
          {hits.map((hit, i) => (
            <Result
              key={hit.node.id}
              hit={hit}
              rank={meta.offset + i + 1}
              words={words}
              names={names}
              workspace={workspace}
            />
          ))}
        </ol>
      )}
      {(meta.hasMore || meta.offset > 0) && <Pager meta={meta} onOffset={onOffset} what="results" />}
    </section>
  )
}

function NoResults({ form, beyond }: { form: Form; beyond: boolean }) {
  const filters = form.entityTypes.length > 0 || form.properties.trim() !== '' || form.minScore > 0
  return (
    <Empty icon={<SearchX size={20} />} title={beyond ? 'No results on this page' : 'No results'}>
      {beyond ? (
        <p>At most 1,000 results are ranked. Go back, or refine the query.</p>
      ) : filters ? (
        <p>Filters apply before ranking: remove some. A property must equal the value, including its type.</p>
      ) : (
        <p>Check that the workspace has nodes. A new node is found about a second later.</p>
      )}
    </Empty>
  )
}

function Degraded({ meta }: { meta: SearchMeta }) {
  if (!meta.degraded) return null
  return (
    <Notice tone="warn" title="Degraded: partial results">
      <p>Unavailable: {degradedText(meta.degraded)}.</p>
      {meta.degraded.some((lane) => lane !== 'graph') && (
        <p>
          Results are complete again when it is back. <b>Indexes</b> and <b>Overview</b> show the cause.
        </p>
      )}
    </Notice>
  )
}

/** Returns the nodes along the paths by id. */
function useNames(workspace: string, hits: readonly Hit[]): ReadonlyMap<string, GraphNode> {
  const ids = idsToName(hits).slice(0, 100)
  const others = useQuery({
    queryKey: ['search', workspace, 'names', ids],
    queryFn: ({ signal }): Promise<List<GraphNode>> =>
      api.list('/queries/nodes', { workspace, query: { ids, limit: 100 }, signal }),
    enabled: ids.length > 0,
  })
  return new Map(
    [...hits.map((hit) => hit.node), ...(others.data?.data ?? [])].map((node) => [node.id, node]),
  )
}
