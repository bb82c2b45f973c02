import { useRef } from 'react'

/**
 * Returns focus handlers for dialogs: the focus returns to where it was before the dialog was opened. Radix returns it
 * only to its own trigger, and these dialogs have none. `first` returns the element to focus initially; by default the
 * first one.
 */
export function useReturningFocus(first?: (dialog: HTMLElement) => HTMLElement) {
  const before = useRef<Element | null>(null)
  return {
    onOpenAutoFocus: (e: Event) => {
      before.current = document.activeElement
      if (!first || !(e.target instanceof HTMLElement)) return
      e.preventDefault()
      first(e.target).focus({ preventScroll: true })
    },
    onCloseAutoFocus: (e: Event) => {
      e.preventDefault()
      const target = before.current
      const detached = !target?.isConnected || target === document.body
      const destination = detached ? document.querySelector<HTMLElement>('main h1') : target
      // The action may have moved the focus already.
      const held = document.activeElement && document.activeElement !== document.body
      if (destination instanceof HTMLElement && !held) destination.focus({ preventScroll: true })
    },
  }
}
