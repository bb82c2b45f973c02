import { Compass } from 'lucide-react'
import { useEffect, type ReactNode } from 'react'
import { useRouteError } from 'react-router'

import { api, ApiError } from '@/api'
import { Button, ButtonLink, Empty, ErrorNotice, Page } from '@/ui'

import { onceBack, waitsOf } from './back'

/** Where no page is. */
export function Missing() {
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

/** Whether what failed is the loading of a page's script or its styles. */
const unloaded = (error: unknown) =>
  error instanceof Error && /imported module|importing a module|preload/i.test(error.message)

/** A page that broke, or could not be loaded because the server was updated meanwhile. The rest goes on. */
export function RouteError({ whole }: { whole?: boolean }) {
  const error = useRouteError()
  return (
    <div className={whole ? 'boot' : undefined}>
      <Failed error={error} />
    </div>
  )
}

/** What says that a page is not there, and leads on. */
export function Failed({ error }: { error: unknown }) {
  const reload = (
    <Button variant="primary" onClick={() => window.location.reload()}>
      Reload
    </Button>
  )
  return (
    <Page title="Something went wrong">
      {unloaded(error) ? (
        <Unloaded>{reload}</Unloaded>
      ) : (
        <>
          <ErrorNotice error={error} />
          <div className="row">{reload}</div>
        </>
      )}
    </Page>
  )
}

/** A page whose script or styles failed to load. The window reloads as soon as the server answers. */
function Unloaded({ children }: { children: ReactNode }) {
  useEffect(() => {
    const stop = new AbortController()
    const { signal } = stop
    // That there is no session any more is an answer, too.
    const answers = () =>
      api.get('/session', { signal }).then(
        () => true,
        (error: unknown) => error instanceof ApiError && error.status === 401,
      )
    void onceBack(answers, waitsOf(wasReloaded()), signal).then((back) => {
      if (back) window.location.reload()
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

/** Whether this window came to be by a reload. */
const wasReloaded = () =>
  performance.getEntriesByType('navigation').some((one) => 'type' in one && one.type === 'reload')
