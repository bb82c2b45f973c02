// Text that is typed before it holds.

import { useEffect, useState } from 'react'

import { SearchInput } from './Field'

/** Milliseconds without a key after which what is typed holds. */
const PAUSE = 250

/** What is typed, which begins as the value and is the value again whenever that changes. */
export function useTyped(value: string): [typed: string, setTyped: (typed: string) => void] {
  const [typed, setTyped] = useState(value)
  const [known, setKnown] = useState(value)
  if (known !== value) {
    setKnown(value)
    setTyped(value)
  }
  return [typed, setTyped]
}

/** A text as it was when its writer paused last. */
export function usePaused(text: string): string {
  const [held, setHeld] = useState(text)
  useEffect(() => {
    const timer = window.setTimeout(() => setHeld(text), PAUSE)
    return () => window.clearTimeout(timer)
  }, [text])
  return held
}

/** A SearchInput whose text holds when its writer pauses. */
export function PausedSearch({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  const [typed, setTyped] = useTyped(value)
  useEffect(() => {
    if (typed === value) return
    const timer = window.setTimeout(() => onChange(typed), PAUSE)
    return () => window.clearTimeout(timer)
  })
  return <SearchInput label={label} value={typed} onChange={setTyped} />
}
