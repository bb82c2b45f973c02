import * as Radix from '@radix-ui/react-tabs'
import { useEffect, useRef, type ReactNode } from 'react'

export interface TabsProps<T extends string> {
  label: string
  value: T
  onChange: (value: T) => void
  tabs: readonly { value: T; label: ReactNode; content: ReactNode }[]
}

/** Tabs. Only the selected one is mounted. */
export function Tabs<T extends string>({ label, value, onChange, tabs }: TabsProps<T>) {
  const list = useRef<HTMLDivElement>(null)
  // On a phone the selected tab may be outside of the list. Only the list is scrolled, not the page.
  useEffect(() => {
    const tab = list.current?.querySelector('[data-state=active]')
    if (!list.current || !tab) return
    const [outer, inner] = [list.current.getBoundingClientRect(), tab.getBoundingClientRect()]
    if (inner.right > outer.right) list.current.scrollLeft += inner.right - outer.right
    else if (inner.left < outer.left) list.current.scrollLeft -= outer.left - inner.left
  }, [value])
  return (
    <Radix.Root value={value} onValueChange={(next) => onChange(next as T)} className="tabs">
      <Radix.List ref={list} className="tabs-list" aria-label={label}>
        {tabs.map((tab) => (
          <Radix.Trigger key={tab.value} value={tab.value} className="tab">
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value} className="tab-panel">
          {tab.content}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}
