// What is shown once, such as the text of a new key: above all pages, so that no way of leaving one loses it.

import { createContext, Fragment, useCallback, useContext, useState, type ReactNode } from 'react'

/** A dialog, given what closes it. */
type Shown = (close: () => void) => ReactNode

const Context = createContext<((shown: Shown) => void) | null>(null)

export function OnceProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<readonly { id: number; dialog: Shown }[]>([])
  const show = useCallback(
    (dialog: Shown) => setShown((before) => [...before, { id: (before.at(-1)?.id ?? 0) + 1, dialog }]),
    [],
  )
  const [first] = shown
  return (
    <Context value={show}>
      {children}
      {first && (
        <Fragment key={first.id}>
          {first.dialog(() => setShown((before) => before.filter((one) => one.id !== first.id)))}
        </Fragment>
      )}
    </Context>
  )
}

/** Returns a function that shows a dialog until it is closed, even if the page that opened it is left. */
export function useShowOnce(): (shown: Shown) => void {
  const show = useContext(Context)
  if (!show) throw new Error('useShowOnce outside of OnceProvider')
  return show
}
