import * as Radix from '@radix-ui/react-tabs'
import type { ReactNode } from 'react'

export interface TabsProps<T extends string> {
  label: string
  value: T
  onChange: (value: T) => void
  tabs: readonly { value: T; label: ReactNode; content: ReactNode }[]
}

/** Tabs. Only the selected one is mounted. */
export function Tabs<T extends string>({ label, value, onChange, tabs }: TabsProps<T>) {
  return (
    <Radix.Root value={value} onValueChange={(next) => onChange(next as T)} className="tabs">
      <Radix.List className="tabs-list" aria-label={label}>
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
