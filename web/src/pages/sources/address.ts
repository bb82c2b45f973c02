// What of the address is kept on the way from one of these pages to another.
import { useCallback } from 'react'
import { useLocation, useNavigate, useSearchParams } from 'react-router'

/** Returns the query of a link: its subject and the workspace. */
export function useKept(): (about?: URLSearchParams) => string {
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
export function useAbout(): [
  about: URLSearchParams,
  write: (about: URLSearchParams, how?: { push?: boolean }) => void,
] {
  const [about] = useSearchParams()
  const { pathname } = useLocation()
  const kept = useKept()
  const navigate = useNavigate()
  const write = useCallback(
    (next: URLSearchParams, how?: { push?: boolean }) =>
      void navigate({ pathname, search: kept(next) }, { replace: !how?.push, preventScrollReset: true }),
    [kept, navigate, pathname],
  )
  return [about, write]
}

/** The address of the explorer with one source. */
export function exploreLink(sourceId: string, kept: (about?: URLSearchParams) => string): string {
  return `/sources/explore${kept(new URLSearchParams({ source: sourceId }))}`
}
