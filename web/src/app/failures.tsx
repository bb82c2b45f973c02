import { Compass } from 'lucide-react'
import { useRouteError } from 'react-router'

import { Button, ButtonLink, Empty, ErrorNotice, Page } from '@/ui'

/** Where no page is. */
export function Missing() {
  return (
    <Page title="No such page">
      <Empty
        icon={<Compass size={20} />}
        title="There is no page at this address"
        actions={
          <ButtonLink to="/" variant="primary">
            To the overview
          </ButtonLink>
        }
      >
        <p>The link may be of another version of Livegraph. Ctrl-K finds every page.</p>
      </Empty>
    </Page>
  )
}

/** A page that broke, or could not be loaded because the server was updated meanwhile. The rest goes on. */
export function RouteError({ whole }: { whole?: boolean }) {
  const error = useRouteError()
  const stale = error instanceof TypeError && /import|module/i.test(error.message)
  const reload = (
    <Button variant="primary" onClick={() => window.location.reload()}>
      Reload
    </Button>
  )
  const notice = stale ? (
    <Empty title="This page could not be loaded" actions={reload}>
      <p>The server is away, or was updated since this window was opened.</p>
    </Empty>
  ) : (
    <>
      <ErrorNotice error={error} />
      <div className="row">{reload}</div>
    </>
  )
  return (
    <div className={whole ? 'boot' : undefined}>
      <Page title="Something went wrong">{notice}</Page>
    </div>
  )
}
