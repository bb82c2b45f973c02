import { Plus, X } from 'lucide-react'
import { useEffect, useRef } from 'react'

import { Button, Field, Group, IconButton, Input, Select } from '@/ui'

import { type Alertmanager, type Draft, EMPTY, MAX_ALERTMANAGERS } from './writes'

const MAX_HEADERS = 10

const TYPES = [
  { value: '', label: 'None' },
  { value: 'basic', label: 'User and password' },
  { value: 'bearer', label: 'Bearer token' },
]

interface Props {
  rows: Draft[]
  stored: readonly Alertmanager[]
  onChange: (rows: Draft[]) => void
  errorOf: (row: Draft, field: string) => string | undefined
}

/** The fields of Alertmanagers. */
export function AlertmanagerRows({ rows, stored, onChange, errorOf }: Props) {
  const box = useRef<HTMLDivElement>(null)
  const shown = useRef(rows.length)
  // A new row gets the focus.
  useEffect(() => {
    if (rows.length > shown.current) {
      ;[...(box.current?.querySelectorAll<HTMLInputElement>('input[type=url]') ?? [])].at(-1)?.focus()
    }
    shown.current = rows.length
  }, [rows.length])
  return (
    <Group
      label="Addresses"
      hint="Without /api/v2/alerts. Private addresses are refused unless the operator allows them."
    >
      <div className="alerts-rows" ref={box}>
        {rows.map((row, i) => (
          <Row
            key={i}
            n={i + 1}
            row={row}
            stored={stored.find(({ url }) => url === row.url.trim())}
            onChange={(next) => onChange(rows.map((old, at) => (at === i ? next : old)))}
            onRemove={() => onChange(rows.filter((_, at) => at !== i))}
            errorOf={(field) => errorOf(row, field)}
          />
        ))}
      </div>
      <div className="row">
        <Button
          size="s"
          icon={<Plus size={14} />}
          disabled={rows.length >= MAX_ALERTMANAGERS}
          onClick={() => onChange([...rows, EMPTY])}
        >
          Add an address
        </Button>
      </div>
    </Group>
  )
}

interface RowProps {
  n: number
  row: Draft
  /** What is stored for the URL. */
  stored: Alertmanager | undefined
  onChange: (row: Draft) => void
  onRemove: () => void
  errorOf: (field: string) => string | undefined
}

function Row({ n, row, stored, onChange, onRemove, errorOf }: RowProps) {
  const set = (changes: Partial<Draft>) => onChange({ ...row, ...changes })
  return (
    <div className="alerts-manager">
      <div className="alerts-rows-line">
        <Field label={`Address ${n}`} hideLabel error={errorOf('url')}>
          <Input
            type="url"
            placeholder="https://alerts.example.com"
            spellCheck={false}
            maxLength={2000}
            value={row.url}
            onChange={(e) => set({ url: e.target.value })}
          />
        </Field>
        <IconButton label={`Remove address ${n}`} onClick={onRemove}>
          <X size={14} />
        </IconButton>
      </div>
      {row.url.trim() && (
        <>
          <Login
            n={n}
            row={row}
            isStored={stored?.authorization?.type === row.type}
            set={set}
            errorOf={errorOf}
          />
          <Headers n={n} row={row} stored={stored} set={set} errorOf={errorOf} />
        </>
      )}
    </div>
  )
}

type PartProps = Pick<RowProps, 'n' | 'row' | 'errorOf'> & { set: (changes: Partial<Draft>) => void }

function Login({ n, row, isStored, set, errorOf }: PartProps & { isStored: boolean }) {
  const [name, field] = row.type === 'basic' ? ['Password', 'password'] : ['Token', 'token']
  return (
    <div className="alerts-login">
      <Field label={`Authorization ${n}`}>
        <Select
          options={TYPES}
          value={row.type}
          onChange={(e) => set({ type: e.target.value as Draft['type'], secret: '' })}
        />
      </Field>
      {row.type === 'basic' && (
        <Field label={`User ${n}`} error={errorOf('authorization.username')}>
          <Input
            autoComplete="off"
            spellCheck={false}
            maxLength={256}
            value={row.username}
            onChange={(e) => set({ username: e.target.value })}
          />
        </Field>
      )}
      {row.type && (
        <Field label={`${name} ${n}`} error={errorOf(`authorization.${field}`)}>
          <Secret isStored={isStored} value={row.secret} onChange={(secret) => set({ secret })} />
        </Field>
      )}
    </div>
  )
}

interface SecretProps {
  isStored: boolean
  value: string
  onChange: (value: string) => void
}

/** A text that the server never returns. */
function Secret({ isStored, value, onChange }: SecretProps) {
  return (
    <Input
      type="password"
      autoComplete="new-password"
      maxLength={4096}
      placeholder={isStored ? 'Unchanged' : undefined}
      value={value}
      onChange={(e) => onChange(e.target.value)}
    />
  )
}

function Headers({ n, row, stored, set, errorOf }: PartProps & Pick<RowProps, 'stored'>) {
  const change = (at: number, changes: Partial<Draft['headers'][number]>) =>
    set({ headers: row.headers.map((old, i) => (i === at ? { ...old, ...changes } : old)) })
  return (
    <>
      {row.headers.map((header, i) => (
        <div className="alerts-rows-line" key={i}>
          <Field label={`Header ${n}.${i + 1}`} error={errorOf(`headers[${i}].name`)}>
            <Input
              placeholder="X-Scope-OrgID"
              spellCheck={false}
              maxLength={100}
              value={header.name}
              onChange={(e) => change(i, { name: e.target.value })}
            />
          </Field>
          <Field label={`Value ${n}.${i + 1}`} error={errorOf(`headers[${i}].value`)}>
            <Secret
              isStored={stored?.headers.some(({ name }) => sameName(name, header.name)) ?? false}
              value={header.value}
              onChange={(value) => change(i, { value })}
            />
          </Field>
          <IconButton
            label={`Remove header ${n}.${i + 1}`}
            onClick={() => set({ headers: row.headers.filter((_, at) => at !== i) })}
          >
            <X size={14} />
          </IconButton>
        </div>
      ))}
      <div className="row">
        <Button
          size="s"
          icon={<Plus size={14} />}
          disabled={row.headers.length >= MAX_HEADERS}
          onClick={() => set({ headers: [...row.headers, { name: '', value: '' }] })}
        >
          Add a header
        </Button>
      </div>
    </>
  )
}

const sameName = (a: string, b: string) => a.toLowerCase() === b.toLowerCase()
