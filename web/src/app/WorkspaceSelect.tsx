import { useState, type ReactNode } from 'react'

import { cx, Field, PausedSearch, Select, visible } from '@/ui'

import { useWorkspaceChoices, useWorkspaceNames } from './workspace'

interface WorkspaceSelectProps {
  /** An id; empty: none is chosen. */
  value: string
  onChange: (id: string) => void
  /** What it is called when none is chosen. */
  none: string
  hideLabel?: boolean
  error?: ReactNode
  /** The search field is next to the list, not below it. */
  beside?: boolean
}

/** Selects one workspace. If there are many, it lists the first ones and finds others by name. */
export function WorkspaceSelect({ value, onChange, none, hideLabel, error, beside }: WorkspaceSelectProps) {
  const [text, setText] = useState('')
  const { choices, many } = useWorkspaceChoices(text)
  const nameOf = useWorkspaceNames([value])
  const chosen = choices.find((one) => one.id === value)?.name ?? nameOf(value)
  return (
    <div className={cx('workspace-select', beside && 'workspace-select-beside')}>
      <Field label="Workspace" hideLabel={hideLabel ?? false} error={error}>
        <Select value={value} onChange={(e) => onChange(e.target.value)}>
          <option value="">{none}</option>
          {value && <option value={value}>{visible(chosen ?? value, 60)}</option>}
          {choices
            .filter((one) => one.id !== value)
            .map((one) => (
              <option key={one.id} value={one.id}>
                {visible(one.name, 60)}
              </option>
            ))}
        </Select>
      </Field>
      {many && <PausedSearch label="Find a workspace" value={text} onChange={setText} />}
    </div>
  )
}
