// Dialogs with contents that are shown once, such as the text of a new key. They are mounted above all pages, so that a
// navigation does not close them.

import { createContext, Fragment, useCallback, useContext, useState, type ReactNode } from 'react'

/** Renders a dialog. `close` closes it. */
type RenderDialog = (close: () => void) => ReactNode

const Context = createContext<((shown: RenderDialog) => void) | null>(null)

export function DialogProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly { id: number; dialog: RenderDialog }[]>([])
  const show = useCallback(
    (dialog: RenderDialog) => setShown((before) => [...before, { id: (before.at(-1)?.id ?? 0) + 1, dialog }]),
    [],
  )
  const [first] = shown
  return (
    <Context value={show}>
      {children}
      {first && (
        <Fragment key={first.id}>
          {first.dialog(() => setShown((before) => before.filter((item) => item.id !== first.id)))}
        </Fragment>
      )}
    </Context>
  )
}

/** Returns a function that shows a dialog until it is closed, even if the page that opened it is left. */
export function useShowDialog(): (shown: RenderDialog) => void {
  const show = useContext(Context)
  if (!show) throw new Error('useShowOnce outside of OnceProvider')
  return show
}
