// A combobox that selects a node by name.

import { useQuery } from '@tanstack/react-query'
import { useDeferredValue, useId, useState, type KeyboardEvent } from 'react'

import { cx, Field, Input, Name, visible } from '@/ui'

import { NO_FILTER } from '../data/source'
import type { GraphNode } from '../model/types'
import { useShared } from './context'
import { TypeIcon } from './TypeIcon'

export interface NodePickerProps {
  label: string
  value: GraphNode | null
  onChange: (node: GraphNode | null) => void
  error?: string | undefined
}

const MAX_CHOICES = 8

export function NodePicker({ label, value, onChange, error }: NodePickerProps) {
  const { workspace, source } = useShared()
  const [text, setText] = useState('')
  const [open, setOpen] = useState(false)
  const [activeIndex, setActiveIndex] = useState(0)
  const asked = useDeferredValue(text)
  const id = useId()
  const found = useQuery({
    queryKey: ['graph', workspace, 'pick', asked],
    queryFn: ({ signal }) => source.find({ ...NO_FILTER, name: asked }, null, MAX_CHOICES, signal),
    enabled: open,
  })
  const nodes = found.data?.data ?? []
  const pick = (node: GraphNode | undefined) => {
    if (!node) return
    onChange(node)
    setText('')
    setOpen(false)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
      setOpen(true)
      const last = Math.max(nodes.length - 1, 0)
      setActiveIndex(
        event.key === 'ArrowDown' ? Math.min(activeIndex + 1, last) : Math.max(activeIndex - 1, 0),
      )
    } else if (event.key === 'Enter' && open) pick(nodes[activeIndex])
    else if (event.key === 'Escape' && open) setOpen(false)
    else return
    event.preventDefault()
    event.stopPropagation()
  }
  return (
    <div className="graph-picker">
      <Field label={label} error={error} hint={value ? undefined : 'Type a part of the name.'}>
        <Input
          role="combobox"
          aria-expanded={open}
          aria-controls={`${id}-list`}
          aria-autocomplete="list"
          aria-activedescendant={open && nodes[activeIndex] ? `${id}-${activeIndex}` : undefined}
          value={open ? text : value ? visible(value.name, 120) : text}
          placeholder={value ? visible(value.name, 120) : 'Find a node…'}
          onFocus={() => setOpen(true)}
          onBlur={() => setOpen(false)}
          onKeyDown={onKeyDown}
          onChange={(event) => {
            setText(event.target.value)
            setActiveIndex(0)
            setOpen(true)
          }}
        />
      </Field>
      {/* The text field handles the keys. */}
      <div
        className="graph-choices"
        role="listbox"
        id={`${id}-list`}
        aria-label={label}
        hidden={!open || nodes.length === 0}
      >
        {nodes.map((node, i) => (
          // eslint-disable-next-line jsx-a11y/click-events-have-key-events
          <div
            key={node.id}
            id={`${id}-${i}`}
            role="option"
            aria-selected={i === activeIndex}
            tabIndex={-1}
            className={cx('graph-choice', i === activeIndex && 'graph-choice-at')}
            // The press must not move the focus from the field, which would close the list before the click.
            onMouseDown={(event) => event.preventDefault()}
            onClick={() => pick(node)}
          >
            <TypeIcon type={node.entityType} named />
            <Name text={node.name} max={120} />
          </div>
        ))}
      </div>
      {open && found.data && nodes.length === 0 && <p className="field-hint">No matching nodes.</p>}
    </div>
  )
}
