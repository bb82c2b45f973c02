import { useEffect, useRef, useState } from 'react'

/**
 * Calls `onFiles` when files are dropped anywhere in the window, and returns whether files are dragged over it. Without
 * it, the browser would open a dropped file in place of the page.
 */
export function useFileDrop(onFiles: (files: File[]) => void): boolean {
  const [over, setOver] = useState(false)
  const handler = useRef(onFiles)
  useEffect(() => {
    handler.current = onFiles
  })
  useEffect(() => {
    const listening = new AbortController()
    const listen = (type: 'dragover' | 'dragleave' | 'drop', handle: (e: DragEvent) => void) =>
      window.addEventListener(
        type,
        (e) => {
          if (e.dataTransfer?.types.includes('Files')) handle(e)
        },
        { signal: listening.signal },
      )
    listen('dragover', (e) => {
      e.preventDefault()
      setOver(true)
    })
    listen('dragleave', (e) => {
      if (e.relatedTarget === null) setOver(false) // the window was left
    })
    listen('drop', (e) => {
      e.preventDefault()
      setOver(false)
      const files = [...(e.dataTransfer?.files ?? [])]
      if (files.length > 0) handler.current(files)
    })
    return () => listening.abort()
  }, [])
  return over
}
