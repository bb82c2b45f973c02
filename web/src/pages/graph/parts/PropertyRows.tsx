// A form of properties: rows of a key, a kind and a value.

import { Plus, X } from 'lucide-react'

import { Button, Checkbox, IconButton, Input, Select, Textarea } from '@/ui'

import { ROW_KINDS, type Row, type RowKind } from '../model/rows'

export interface PropertyRowsProps {
  rows: readonly Row[]
  errors: ReadonlyMap<number, string>
  onChange: (rows: Row[]) => void
}

export function PropertyRows({ rows, errors, onChange }: PropertyRowsProps) {
  const put = (changed: Row) => onChange(rows.map((row) => (row.id === changed.id ? changed : row)))
  const add = () =>
    onChange([
      ...rows,
      { id: Math.max(-1, ...rows.map((row) => row.id)) + 1, key: '', kind: 'text', text: '' },
    ])
  return (
    <fieldset className="graph-rows">
      <legend className="field-label">Properties</legend>
      {rows.length === 0 && <p className="field-hint">None. Search uses text properties.</p>}
      {rows.map((row, i) => (
        <div key={row.id} className="graph-row">
          <Input
            aria-label={`Key of property ${i + 1}`}
            aria-invalid={errors.has(row.id) || undefined}
            value={row.key}
            placeholder="key"
            spellCheck={false}
            onChange={(event) => put({ ...row, key: event.target.value })}
          />
          <Select
            aria-label={`Kind of property ${i + 1}`}
            options={ROW_KINDS}
            value={row.kind}
            onChange={(event) => put(convert(row, event.target.value as RowKind))}
          />
          <ValueField row={row} label={`Value of property ${i + 1}`} onChange={put} />
          <IconButton
            label={`Remove property ${row.key || i + 1}`}
            onClick={() => onChange(rows.filter((item) => item !== row))}
          >
            <X size={16} />
          </IconButton>
          {errors.has(row.id) && (
            <p className="field-error graph-row-error" role="alert">
              {errors.get(row.id)}
            </p>
          )}
        </div>
      ))}
      <div>
        <Button size="s" icon={<Plus size={14} />} onClick={add}>
          Add a property
        </Button>
      </div>
    </fieldset>
  )
}

function convert(row: Row, kind: RowKind): Row {
  if (kind === 'yes/no') return { ...row, kind, text: row.text === 'true' ? 'true' : 'false' }
  if (kind === 'JSON' && row.kind === 'text') return { ...row, kind, text: JSON.stringify(row.text) }
  return { ...row, kind }
}

function ValueField({ row, label, onChange }: { row: Row; label: string; onChange: (row: Row) => void }) {
  if (row.kind === 'yes/no') {
    const on = row.text === 'true'
    return (
      <Checkbox
        aria-label={label}
        checked={on}
        label={on ? 'yes' : 'no'}
        onChange={(event) => onChange({ ...row, text: String(event.target.checked) })}
      />
    )
  }
  if (row.kind === 'JSON') {
    return (
      <Textarea
        aria-label={label}
        rows={3}
        className="mono"
        value={row.text}
        spellCheck={false}
        onChange={(event) => onChange({ ...row, text: event.target.value })}
      />
    )
  }
  return (
    <Input
      aria-label={label}
      value={row.text}
      inputMode={row.kind === 'number' ? 'decimal' : 'text'}
      onChange={(event) => onChange({ ...row, text: event.target.value })}
    />
  )
}
