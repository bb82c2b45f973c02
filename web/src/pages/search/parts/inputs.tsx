// Inputs of the search form.

import { useState, type ReactNode } from 'react'

import { Badge, Input } from '@/ui'

import { joinList, splitList } from '../lists'

/** A comma-separated list. The text is kept as typed. */
export function ListInput({
  values,
  onChange,
}: {
  values: readonly string[]
  onChange: (values: string[]) => void
}) {
  const joined = joinList(values)
  const [typed, setTyped] = useState({ text: joined, joined })
  const text = typed.joined === joined ? typed.text : joined
  return (
    <Input
      value={text}
      spellCheck={false}
      onChange={(event) => {
        const list = splitList(event.target.value)
        setTyped({ text: event.target.value, joined: joinList(list) })
        onChange(list)
      }}
    />
  )
}

/** A number from 0 to 1. */
export function Slider({
  label,
  value,
  onChange,
}: {
  label: string
  value: number
  onChange: (value: number) => void
}) {
  return (
    <label className="search-slider">
      <span>{label}</span>
      <input
        type="range"
        min={0}
        max={1}
        step={0.05}
        value={value}
        onChange={(event) => onChange(Number(event.target.value))}
      />
      <output>{value.toFixed(2)}</output>
    </label>
  )
}

/** A part of the form that can be closed. */
export function Disclosure({
  title,
  count = 0,
  open,
  children,
}: {
  title: string
  /** The number of fields in it that are set. */
  count?: number
  /** It is open initially, and opens when this changes to true. */
  open: boolean
  children: ReactNode
}) {
  const [shown, setShown] = useState(open)
  const [before, setBefore] = useState(open)
  if (open !== before) {
    setBefore(open)
    // A field that is cleared does not close the part of the form that it is in.
    if (open) setShown(true)
  }
  return (
    <details className="search-more" open={shown} onToggle={(event) => setShown(event.currentTarget.open)}>
      <summary>
        {title}
        {count > 0 && (
          <>
            {' '}
            <Badge tone="accent">
              {count} <span className="sr-only">set</span>
            </Badge>
          </>
        )}
      </summary>
      <div className="stack">{children}</div>
    </details>
  )
}

/** Returns numbers as the options of a select, with the selected one among them. */
export const numberOptions = (numbers: readonly number[], selected: number) =>
  [...new Set([...numbers, selected])].sort((a, b) => a - b).map(String)
