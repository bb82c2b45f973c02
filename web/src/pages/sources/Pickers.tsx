import { Plus, X } from 'lucide-react'
import { useDeferredValue, useId, useState } from 'react'

import { Button, Checkbox, Group, IconButton, Input, Name, num, SearchInput, visible } from '@/ui'

import { useSource, useSources } from './data'
import { StatusBadge } from './parts'
import { MAX_SOURCES } from './query'

/** Selects sources by a part of the name. */
export function SourcePicker({ chosen, onChange }: { chosen: string[]; onChange: (ids: string[]) => void }) {
  const [typed, setTyped] = useState('')
  const name = useDeferredValue(typed)
  const found = useSources({ name, tag: '', sort: 'name', offset: 0 })
  const full = chosen.length >= MAX_SOURCES
  const toggle = (id: string) =>
    onChange(chosen.includes(id) ? chosen.filter((item) => item !== id) : [...chosen, id])
  const total = found.data?.meta.total ?? 0
  const list = found.data?.data ?? []
  return (
    <Group label="Sources">
      {chosen.length > 0 && (
        <ul className="sources-chosen">
          {chosen.map((id) => (
            <SelectedSource key={id} id={id} onRemove={() => toggle(id)} />
          ))}
        </ul>
      )}
      <SearchInput label="Part of a source’s name" value={typed} onChange={setTyped} />
      <div className="sources-options">
        {list.map((source) => (
          <div key={source.id} className="sources-option">
            <Checkbox
              checked={chosen.includes(source.id)}
              disabled={full && !chosen.includes(source.id)}
              onChange={() => toggle(source.id)}
              label={<Name text={source.name} max={80} />}
            />
            {source.status !== 'active' && <StatusBadge status={source.status} />}
          </div>
        ))}
        {found.data && list.length === 0 && (
          <p className="muted">{typed ? 'No source matches.' : 'There are no sources yet.'}</p>
        )}
        {found.isError && <p className="field-error">The sources cannot be listed at the moment.</p>}
      </div>
      <p className="field-hint">
        {full
          ? `No more than ${num(MAX_SOURCES)} at once.`
          : total > list.length
            ? `${num(list.length)} of ${num(total)}: type to find others.`
            : chosen.length === 0
              ? 'None selected: all.'
              : `${num(chosen.length)} chosen.`}
      </p>
    </Group>
  )
}

function SelectedSource({ id, onRemove }: { id: string; onRemove: () => void }) {
  const source = useSource(id, false)
  const name = source.data?.name ?? (source.isError ? `unknown source ${id.slice(-8)}` : '…')
  return (
    <li>
      <span title={visible(name, 300)}>{visible(name, 60)}</span>
      <IconButton size="s" label={`Without ${visible(name, 60)}`} onClick={onRemove}>
        <X size={12} />
      </IconButton>
    </li>
  )
}

interface MetricPickerProps {
  chosen: string[]
  known: string[]
  /** Some series were not checked. */
  partial: boolean
  onChange: (metrics: string[]) => void
}

/** The maximum number of offered metrics. */
const MAX_OFFERED = 100

/** Selects known metrics, or any metric by its exact name. */
export function MetricPicker({ chosen, known, partial, onChange }: MetricPickerProps) {
  const id = useId()
  const [typed, setTyped] = useState('')
  const toggle = (name: string) =>
    onChange(chosen.includes(name) ? chosen.filter((item) => item !== name) : [...chosen, name])
  const all = [...new Set([...chosen, ...known])].sort()
  const offered = all.filter((name) => name.toLowerCase().includes(typed.toLowerCase())).slice(0, MAX_OFFERED)
  return (
    <Group label="Metrics">
      <form
        className="sources-add"
        onSubmit={(e) => {
          e.preventDefault()
          const name = typed.trim()
          if (name === '') return
          if (!chosen.includes(name)) onChange([...chosen, name])
          setTyped('')
        }}
      >
        <Input
          aria-label="Metric"
          aria-describedby={id}
          placeholder="find, or add by its exact name"
          value={typed}
          onChange={(e) => setTyped(e.target.value)}
          spellCheck={false}
        />
        <Button type="submit" className="btn-icon" aria-label="Add the metric" disabled={typed.trim() === ''}>
          <Plus size={14} />
        </Button>
      </form>
      {offered.length > 0 && (
        <div className="sources-options">
          {offered.map((name) => (
            <div key={name} className="sources-option">
              <Checkbox
                checked={chosen.includes(name)}
                onChange={() => toggle(name)}
                label={<Name text={name} max={80} />}
              />
            </div>
          ))}
        </div>
      )}
      <p className="field-hint" id={id}>
        {chosen.length === 0 ? 'None selected: all.' : `${num(chosen.length)} chosen.`}
        {partial && ' Taken from the first 100 series; add others by name.'}
      </p>
    </Group>
  )
}
