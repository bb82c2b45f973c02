import * as Drawer from '@radix-ui/react-dialog'
import { Menu as MenuIcon, Search, X } from 'lucide-react'
import { useEffect, useRef, useState, type RefObject } from 'react'
import { Navigate, Outlet, useLocation, useNavigation } from 'react-router'

import { ErrorNotice, IconButton } from '@/ui'
import { useReturningFocus } from '@/ui/focus'

import { Boot } from './Boot'
import { Brand, Sidebar } from './Sidebar'
import { CommandProvider } from './commands'
import { DialogProvider } from './dialogs'
import { Palette } from './Palette'
import { useSession } from './session'
import { WorkspaceProvider } from './workspace'

/** The layout around every page of a session. */
export function Shell() {
  const session = useSession()
  const location = useLocation()
  if (session.isPending) return <Boot />
  if (session.isError) {
    return (
      <main className="boot">
        <ErrorNotice error={session.error} onRetry={() => void session.refetch()} />
      </main>
    )
  }
  if (!session.data) {
    const next = location.pathname + location.search
    return (
      <Navigate to={next === '/' ? '/login' : `/login?${new URLSearchParams({ next }).toString()}`} replace />
    )
  }
  return (
    <WorkspaceProvider>
      <CommandProvider>
        <DialogProvider>
          <Frame />
        </DialogProvider>
      </CommandProvider>
    </WorkspaceProvider>
  )
}

function Frame() {
  const { pathname } = useLocation()
  const loading = useNavigation().state !== 'idle'
  const [palette, setPalette] = useState(false)
  const [drawer, setDrawer] = useState(false)
  const main = useRef<HTMLElement>(null)
  const focus = useReturningFocus()
  const page = pathname.split('/')[1] ?? ''
  useFocusOnNewPage(page, main)
  useEffect(() => {
    const onKeyDown = (e: KeyboardEvent) => {
      if (!(e.ctrlKey || e.metaKey) || e.shiftKey || e.altKey || e.key.toLowerCase() !== 'k') return
      e.preventDefault()
      setDrawer(false)
      setPalette((open) => !open)
    }
    window.addEventListener('keydown', onKeyDown)
    return () => window.removeEventListener('keydown', onKeyDown)
  }, [])
  const openPalette = () => {
    setDrawer(false)
    setPalette(true)
  }
  return (
    <div className="shell">
      <a className="skip" href="#main" onClick={(e) => (e.preventDefault(), main.current?.focus())}>
        Skip to the page
      </a>
      <header className="topbar">
        <Drawer.Root open={drawer} onOpenChange={setDrawer}>
          <IconButton label="Open the navigation" onClick={() => setDrawer(true)}>
            <MenuIcon size={18} />
          </IconButton>
          <Drawer.Portal>
            <div className="scrim drawer-scrim">
              <Drawer.Content {...focus} className="drawer" aria-describedby={undefined}>
                <Drawer.Title className="sr-only">Navigation</Drawer.Title>
                <Sidebar onPalette={openPalette} onNavigate={() => setDrawer(false)} />
                <div className="drawer-close">
                  <IconButton label="Close the navigation" onClick={() => setDrawer(false)}>
                    <X size={18} />
                  </IconButton>
                </div>
              </Drawer.Content>
            </div>
          </Drawer.Portal>
        </Drawer.Root>
        <Brand />
        <IconButton label="Find a page or an action (Ctrl K)" onClick={openPalette}>
          <Search size={18} />
        </IconButton>
      </header>
      <aside className="shell-side" aria-label="Navigation">
        <Sidebar onPalette={openPalette} />
      </aside>
      <main className="shell-main" id="main" ref={main} tabIndex={-1} aria-busy={loading || undefined}>
        {loading && <div className="shell-loading" aria-hidden="true" />}
        <Outlet />
      </main>
      <Palette open={palette} onClose={() => setPalette(false)} />
    </div>
  )
}

/** Moves the focus to the heading after a navigation, so that screen readers announce the page. */
function useFocusOnNewPage(page: string, main: RefObject<HTMLElement | null>): void {
  const before = useRef(page)
  useEffect(() => {
    if (before.current === page) return
    before.current = page
    main.current?.scrollTo(0, 0)
    // The navigation may hold the focus in a dialog that is closing.
    const frame = requestAnimationFrame(() =>
      main.current?.querySelector('h1')?.focus({ preventScroll: true }),
    )
    return () => cancelAnimationFrame(frame)
  }, [page, main])
}
