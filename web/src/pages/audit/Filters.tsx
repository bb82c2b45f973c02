import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { api, type Key, type Query } from '@/api'
import { WorkspaceSelect } from '@/app/WorkspaceSelect'
import { Field, fieldError, Input, DebouncedSearch, Select, useEditableValue, visible } from '@/ui'

import { searchText } from '../keys/keys'
import { RANGES, STATUSES, DEFAULT_RANGE } from './filter'

interface FiltersProps {
  params: URLSearchParams
  set: (name: string, value: string) => void
  error: unknown
}

/** The filters. Typed values apply on Enter or blur, selected values at once. */
export function Filters({ params, set, error }: FiltersProps) {
  const value = (name: string) => params.get(name) ?? ''
  const typed = (name: string, label: string, placeholder: string) => (
    <TypedFilter
      label={label}
      placeholder={placeholder}
      value={value(name)}
      error={fieldError(error, name)}
      onChange={(text) => set(name, text)}
    />
  )
  return (
    <div className="audit-filters">
      <Field label="Time">
        <Select
          value={params.get('range') ?? DEFAULT_RANGE}
          onChange={(e) => set('range', e.target.value)}
          options={RANGES}
        />
      </Field>
      <Field label="Status">
        <Select value={value('status')} onChange={(e) => set('status', e.target.value)} options={STATUSES} />
      </Field>
      <KeyChoice value={value('keyId')} onChange={(id) => set('keyId', id)} />
      <WorkspaceSelect
        value={value('workspaceId')}
        onChange={(id) => set('workspaceId', id)}
        none="Any workspace"
      />
      {typed('route', 'Route', '/api/queries/*')}
      {typed('ip', 'Address', '203.0.113.7')}
      {typed('requestId', 'Request', 'req_…')}
    </div>
  )
}

/** A text filter. It keeps the focus when it is applied. */
function TypedFilter({
  label,
  placeholder,
  value,
  error,
  onChange,
}: {
  label: string
  placeholder: string
  value: string
  error: string | undefined
  onChange: (text: string) => void
}) {
  const [typed, setTyped] = useEditableValue(value)
  const apply = () => typed.trim() !== value && onChange(typed.trim())
  return (
    <Field label={label} error={error}>
      <Input
        value={typed}
        placeholder={placeholder}
        spellCheck={false}
        onChange={(e) => setTyped(e.target.value)}
        onKeyDown={(e) => e.key === 'Enter' && apply()}
        onBlur={apply}
      />
    </Field>
  )
}

/** The maximum number of listed keys. The others are found by name. */
const MAX_CHOICES = 100

function useKeyList(query: Query, enabled = true) {
  return useQuery({
    queryKey: ['keys', query],
    queryFn: ({ signal }) => api.list<Key>('/keys', { query: { sort: '-createdAt', ...query }, signal }),
    placeholderData: keepPreviousData,
    staleTime: 60_000,
    enabled,
  }).data
}

function KeyChoice({ value, onChange }: { value: string; onChange: (id: string) => void }) {
  const [text, setText] = useState('')
  const found = useKeyList({ name: searchText(text), limit: MAX_CHOICES })
  const chosen = useKeyList({ id: value, limit: 1 }, value !== '')?.data.find((k) => k.id === value)
  const keys = found?.data.filter((k) => k.id !== value) ?? []
  const hasMore = (found?.meta.total ?? 0) > MAX_CHOICES || text !== ''
  return (
    <div className="audit-key">
      <Field label="Key">
        <Select value={value} onChange={(e) => onChange(e.target.value)}>
          <option value="">Any key</option>
          {value && <option value={value}>{chosen ? nameOf(chosen) : visible(value, 60)}</option>}
          {keys.map((k) => (
            <option key={k.id} value={k.id}>
              {nameOf(k)}
            </option>
          ))}
        </Select>
      </Field>
      {hasMore && <DebouncedSearch label="Find a key" value={text} onChange={setText} />}
    </div>
  )
}

const nameOf = (k: Key) => `${visible(k.name, 60)} (${k.display}…)`
