// Debounced text inputs.

import { useEffect, useState } from 'react'

import { SearchInput } from './Field'

/** The delay in milliseconds. */
const DEBOUNCE_MS = 250

/** Returns an editable copy of a value. It is reset when the value changes. */
export function useEditableValue(value: string): [typed: string, setTyped: (typed: string) => void] {
  const [typed, setTyped] = useState(value)
  const [previous, setPrevious] = useState(value)
  if (previous !== value) {
    setPrevious(value)
    setTyped(value)
  }
  return [typed, setTyped]
}

/** Returns the text after a pause in typing. */
export function useDebounced(text: string): string {
  const [debounced, setDebounced] = useState(text)
  useEffect(() => {
    const timer = window.setTimeout(() => setDebounced(text), DEBOUNCE_MS)
    return () => window.clearTimeout(timer)
  }, [text])
  return debounced
}

/** A SearchInput that reports its text after a pause in typing. */
export function DebouncedSearch({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  const [typed, setTyped] = useEditableValue(value)
  useEffect(() => {
    if (typed === value) return
    const timer = window.setTimeout(() => onChange(typed), DEBOUNCE_MS)
    return () => window.clearTimeout(timer)
  })
  return <SearchInput label={label} value={typed} onChange={setTyped} />
}
