import { useRef } from 'react'

/**
 * For dialogs: the focus goes back to where it was before they were opened. Radix returns it to its own trigger
 * alone, and ours have none. `first` says where it goes at the beginning; without it, to what comes first.
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
      const to = before.current
      const gone = !to?.isConnected || to === document.body
      const place = gone ? document.querySelector<HTMLElement>('main h1') : to
      // What was done may have moved the focus on already.
      const held = document.activeElement && document.activeElement !== document.body
      if (place instanceof HTMLElement && !held) place.focus({ preventScroll: true })
    },
  }
}
