// The URL parameters that links between these pages keep.
import { useCallback } from 'react'
import { useLocation, useNavigate, useSearchParams } from 'react-router'

/** Returns a function that returns the query of a link: its parameters and the workspace. */
export function useLinkQuery(): (about?: URLSearchParams) => string {
  const [now] = useSearchParams()
  const workspace = now.get('workspace')
  return useCallback(
    (about) => {
      const next = new URLSearchParams(about)
      if (workspace) next.set('workspace', workspace)
      const text = next.toString()
      return text ? `?${text}` : ''
    },
    [workspace],
  )
}

/** Reads and writes the state of a page in its URL. */
export function usePageParams(): [
  about: URLSearchParams,
  write: (params: URLSearchParams, how?: { push?: boolean }) => void,
] {
  const [params] = useSearchParams()
  const { pathname } = useLocation()
  const linkQuery = useLinkQuery()
  const navigate = useNavigate()
  const write = useCallback(
    (next: URLSearchParams, how?: { push?: boolean }) =>
      void navigate({ pathname, search: linkQuery(next) }, { replace: !how?.push, preventScrollReset: true }),
    [linkQuery, navigate, pathname],
  )
  return [params, write]
}

/** Returns the URL of the explorer with one source. */
export function exploreLink(sourceId: string, linkQuery: (about?: URLSearchParams) => string): string {
  return `/sources/explore${linkQuery(new URLSearchParams({ source: sourceId }))}`
}
