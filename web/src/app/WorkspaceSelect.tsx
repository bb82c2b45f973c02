import { useState, type ReactNode } from 'react'

import { cx, Field, DebouncedSearch, Select, visible } from '@/ui'

import { useWorkspaceChoices, useWorkspaceNames } from './workspace'

interface WorkspaceSelectProps {
  /** A workspace id; empty if none is selected. */
  value: string
  onChange: (id: string) => void
  /** The label of the empty choice. */
  none: string
  hideLabel?: boolean
  error?: ReactNode
  /** Places the search field next to the list instead of below it. */
  beside?: boolean
}

/** Selects one workspace. If there are many, it lists the first ones and finds others by name. */
export function WorkspaceSelect({ value, onChange, none, hideLabel, error, beside }: WorkspaceSelectProps) {
  const [text, setText] = useState('')
  const { choices, hasMore } = useWorkspaceChoices(text)
  const nameOf = useWorkspaceNames([value])
  const chosen = choices.find((item) => item.id === value)?.name ?? nameOf(value)
  return (
    <div className={cx('workspace-select', beside && 'workspace-select-beside')}>
      <Field label="Workspace" hideLabel={hideLabel ?? false} error={error}>
        <Select value={value} onChange={(e) => onChange(e.target.value)}>
          <option value="">{none}</option>
          {value && <option value={value}>{visible(chosen ?? value, 60)}</option>}
          {choices
            .filter((item) => item.id !== value)
            .map((item) => (
              <option key={item.id} value={item.id}>
                {visible(item.name, 60)}
              </option>
            ))}
        </Select>
      </Field>
      {hasMore && <DebouncedSearch label="Find a workspace" value={text} onChange={setText} />}
    </div>
  )
}
