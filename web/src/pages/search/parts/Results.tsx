// The results of a search.

import { useQuery } from '@tanstack/react-query'
import { ListFilter, Network, SearchX } from 'lucide-react'

import { api, type List } from '@/api'
import { Button, ButtonLink, Empty, num, Pager, Panel, plural } from '@/ui'

import type { GraphNode } from '../../graph/model/types'
import { idsToName, timingText } from '../explain'
import { filterCount, type Form } from '../form'
import { wordsOf } from '../highlight'
import { FACETS, type Hit, type SearchAnswer } from '../types'
import { Degraded } from './Degraded'
import { FacetPanel } from './FacetPanel'
import { Result } from './Result'

export interface ResultsProps {
  form: Form
  answer: SearchAnswer
  ms: number
  /** The response belongs to the previous request. */
  stale: boolean
  workspace: string
  onOffset: (offset: number) => void
  /** Sends a changed form. */
  onSend: (form: Form) => void
}

export function Results({ form, answer, ms, stale, workspace, onOffset, onSend }: ResultsProps) {
  const { data: hits, meta } = answer
  const names = useNames(workspace, hits)
  const words = wordsOf(form.query)
  return (
    <section
      aria-label="Results"
      aria-busy={stale}
      className={stale ? 'search-results search-stale' : 'search-results'}
    >
      <Degraded meta={meta} />
      <ResultsHead form={form} answer={answer} ms={ms} workspace={workspace} onSend={onSend} />
      <div className={meta.facets ? 'search-with-facets' : undefined}>
        {meta.facets && <FacetPanel facets={meta.facets} form={form} onFilter={onSend} />}
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
      </div>
      {(meta.hasMore || meta.offset > 0) && <Pager meta={meta} onOffset={onOffset} what="results" />}
    </section>
  )
}

function ResultsHead({
  form,
  answer: { data: hits, meta },
  ms,
  workspace,
  onSend,
}: Omit<ResultsProps, 'stale' | 'onOffset'>) {
  const ids = hits.map((hit) => hit.node.id)
  const nodes = new URLSearchParams([['workspace', workspace], ...ids.map((id) => ['node', id])])
  const counted = form.facets.length > 0
  return (
    <header className="search-head">
      <p role="status">
        <b>{plural(meta.total, 'result')}</b> <span className="muted">{timingText(meta, ms)}</span>
      </p>
      <span className="row">
        <Button
          size="s"
          icon={<ListFilter size={14} />}
          aria-pressed={counted}
          onClick={() => onSend({ ...form, facets: counted ? [] : [...FACETS] })}
        >
          Facets
        </Button>
        {hits.length > 0 && (
          <ButtonLink size="s" icon={<Network size={14} />} to={`/graph?${nodes.toString()}`}>
            Show {hits.length === 1 ? 'it' : `all ${num(hits.length)}`} in the graph
          </ButtonLink>
        )}
      </span>
    </header>
  )
}

function NoResults({ form, beyond }: { form: Form; beyond: boolean }) {
  return (
    <Empty icon={<SearchX size={20} />} title={beyond ? 'No results on this page' : 'No results'}>
      {beyond ? (
        <p>At most 1,000 results are ranked. Go back, or refine the query.</p>
      ) : filterCount(form) > 0 ? (
        <p>Filters apply before ranking: remove some. A property must equal the value, including its type.</p>
      ) : (
        <p>Check that the workspace has nodes. A new node is found about a second later.</p>
      )}
    </Empty>
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
