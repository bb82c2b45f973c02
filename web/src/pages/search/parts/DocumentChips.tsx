import { useQuery } from '@tanstack/react-query'
import { FileText, X } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'react-router'

import { api } from '@/api'
import { useWorkspace } from '@/app/workspace'
import { plural, shortId, visible } from '@/ui'

import type { GraphNode } from '../../graph/model/types'
import { UUID } from '../form'

/** The documents in which is searched. Each can be removed. */
export function DocumentChips({
  ids,
  error,
  onChange,
}: {
  ids: readonly string[]
  error: string | undefined
  onChange: (ids: string[]) => void
}) {
  const { id: workspace } = useWorkspace()
  const label = useId()
  const titles = useTitles(workspace, ids)
  return (
    <div className="field">
      <span className="field-label" id={label}>
        Only in {plural(ids.length, 'document')}
      </span>
      <ul className="search-chips" aria-labelledby={label}>
        {ids.map((id) => {
          const title = visible(titles.get(id.toLowerCase()) ?? shortId(id), 80)
          return (
            <li key={id} className="search-chip">
              <FileText size={12} aria-hidden="true" />
              <Link to={`/documents?${new URLSearchParams({ workspace, id }).toString()}`}>
                <bdi>{title}</bdi>
              </Link>
              <button
                type="button"
                aria-label={`Remove the document ${title}`}
                onClick={() => onChange(ids.filter((item) => item !== id))}
              >
                <X size={12} />
              </button>
            </li>
          )
        })}
      </ul>
      {error && (
        <div className="field-error" role="alert">
          {error}
        </div>
      )}
    </div>
  )
}

/** Returns the titles of documents by their ids. Those that do not exist have none. */
function useTitles(workspace: string, ids: readonly string[]): ReadonlyMap<string, string> {
  const valid = ids.filter((id) => UUID.test(id))
  const query = { ids: valid, limit: valid.length }
  const nodes = useQuery({
    queryKey: ['search', workspace, 'titles', query],
    queryFn: ({ signal }) => api.list<GraphNode>('/queries/nodes', { workspace, query, signal }),
    enabled: valid.length > 0,
    staleTime: 60_000,
    placeholderData: (before) => before,
  })
  return new Map(nodes.data?.data.map((node) => [node.id, node.name]))
}
