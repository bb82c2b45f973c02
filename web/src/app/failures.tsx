import { Compass } from 'lucide-react'
import { useEffect, type ReactNode } from 'react'
import { useRouteError } from 'react-router'

import { api, ApiError } from '@/api'
import { Button, ButtonLink, Empty, ErrorNotice, Page } from '@/ui'

import { waitUntilAvailable, pollDelays } from './availability'

/** The page for unknown URLs. */
export function NotFound() {
  return (
    <Page title="Page not found">
      <Empty
        icon={<Compass size={20} />}
        title="This page does not exist"
        actions={
          <ButtonLink to="/" variant="primary">
            Go to the overview
          </ButtonLink>
        }
      >
        <p>The link may be from another version of Livegraph. Press Ctrl-K to find a page.</p>
      </Empty>
    </Page>
  )
}

/** Reports whether loading the script or the styles of a page failed. */
const isLoadError = (error: unknown) =>
  error instanceof Error && /imported module|importing a module|preload/i.test(error.message)

/**
 * Shown in place of a page that threw an error or could not be loaded, for example after an update of the server. The
 * rest of the application keeps working.
 */
export function RouteError({ fullPage }: { fullPage?: boolean }) {
  const error = useRouteError()
  return (
    <div className={fullPage ? 'boot' : undefined}>
      <PageError error={error} />
    </div>
  )
}

/** The error of a page, with a reload button. */
export function PageError({ error }: { error: unknown }) {
  const reload = (
    <Button variant="primary" onClick={() => window.location.reload()}>
      Reload
    </Button>
  )
  return (
    <Page title="Something went wrong">
      {isLoadError(error) ? (
        <LoadError>{reload}</LoadError>
      ) : (
        <>
          <ErrorNotice error={error} />
          <div className="row">{reload}</div>
        </>
      )}
    </Page>
  )
}

/** Shown when the script or styles of a page could not be loaded. Reloads the window as soon as the server answers. */
function LoadError({ children }: { children: ReactNode }) {
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    // 401 also means that the server is available.
    const isAvailable = () =>
      api.get('/session', { signal }).then(
        () => true,
        (error: unknown) => error instanceof ApiError && error.status === 401,
      )
    void waitUntilAvailable(isAvailable, pollDelays(wasReloaded()), signal).then((available) => {
      if (available) window.location.reload()
    })
    return () => stop.abort()
  }, [])
  return (
    <Empty title="This page could not be loaded" actions={children}>
      <p>
        The server is unavailable, or was updated after this window was opened. The page reloads when the
        server answers.
      </p>
    </Empty>
  )
}

/** Reports whether this window was reloaded. */
const wasReloaded = () =>
  performance.getEntriesByType('navigation').some((item) => 'type' in item && item.type === 'reload')
