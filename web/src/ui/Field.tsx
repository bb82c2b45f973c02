import { ChevronDown, Search, X } from 'lucide-react'
import {
  createContext,
  useContext,
  useId,
  type ComponentProps,
  type InputHTMLAttributes,
  type ReactNode,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
} from 'react'

import { cx } from './format'

interface Wiring {
  id: string
  describedBy: string | undefined
  invalid: boolean
}

const FieldContext = createContext<Wiring | null>(null)

export interface FieldProps {
  label: ReactNode
  /** What is allowed, before anything is wrong. */
  hint?: ReactNode
  /** What is wrong and what would be right. */
  error?: ReactNode
  /** The label is read aloud but not shown. */
  hideLabel?: boolean
  optional?: boolean
  className?: string
  /** One Input, Textarea or Select: it is tied to the label by itself. */
  children: ReactNode
}

/** A label, a control, and what is said about it. */
export function Field({ label, hint, error, hideLabel, optional, className, children }: FieldProps) {
  const id = useId()
  const said = [hint && !error ? `${id}-hint` : '', error ? `${id}-error` : ''].filter(Boolean).join(' ')
  return (
    <div className={cx('field', className)}>
      <label className={hideLabel ? 'sr-only' : 'field-label'} htmlFor={id}>
        {label}
        {optional && <span className="field-optional"> optional</span>}
      </label>
      <FieldContext value={{ id, describedBy: said || undefined, invalid: Boolean(error) }}>
        {children}
      </FieldContext>
      {hint && !error && (
        <div className="field-hint" id={`${id}-hint`}>
          {hint}
        </div>
      )}
      {error && (
        <div className="field-error" id={`${id}-error`} role="alert">
          {error}
        </div>
      )}
    </div>
  )
}

function useWiring() {
  const wiring = useContext(FieldContext)
  return wiring
    ? { id: wiring.id, 'aria-describedby': wiring.describedBy, 'aria-invalid': wiring.invalid || undefined }
    : {}
}

export function Input({
  className,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { ref?: ComponentProps<'input'>['ref'] }) {
  return <input autoComplete="off" {...useWiring()} {...rest} className={cx('input', className)} />
}

export function Textarea({ className, ...rest }: TextareaHTMLAttributes<HTMLTextAreaElement>) {
  return <textarea {...useWiring()} {...rest} className={cx('input', 'textarea', className)} />
}

export interface SelectProps extends SelectHTMLAttributes<HTMLSelectElement> {
  /** Instead of children. */
  options?: readonly (string | { value: string; label: string })[]
}

/** The browser's own select: it works by keyboard, on a phone and with ten thousand choices. */
export function Select({ options, children, className, ...rest }: SelectProps) {
  return (
    <span className={cx('select', className)}>
      <select {...useWiring()} {...rest} className="input">
        {options?.map((one) => {
          const { value, label } = typeof one === 'string' ? { value: one, label: one } : one
          return (
            <option key={value} value={value}>
              {label}
            </option>
          )
        })}
        {children}
      </select>
      <ChevronDown size={14} aria-hidden="true" />
    </span>
  )
}

export interface GroupProps {
  /** What the controls are about. */
  label: ReactNode
  hint?: ReactNode
  error?: ReactNode
  /** Each as wide as it is by itself. */
  tight?: boolean
  children: ReactNode
}

/** Controls that belong together, under one name. */
export function Group({ label, hint, error, tight, children }: GroupProps) {
  const id = useId()
  return (
    <fieldset className={cx('group', tight && 'group-tight')} aria-describedby={error ? id : undefined}>
      <legend className="field-label">{label}</legend>
      {hint && <p className="field-hint">{hint}</p>}
      {children}
      {error && (
        <div className="field-error" id={id} role="alert">
          {error}
        </div>
      )}
    </fieldset>
  )
}

export interface CheckboxProps extends Omit<InputHTMLAttributes<HTMLInputElement>, 'type'> {
  label: ReactNode
  hint?: ReactNode
}

export function Checkbox({ label, hint, className, ...rest }: CheckboxProps) {
  return (
    <label className={cx('check', className)}>
      <input type="checkbox" {...rest} />
      <span>
        {label}
        {hint && <span className="check-hint">{hint}</span>}
      </span>
    </label>
  )
}

export interface SearchInputProps {
  /** What is searched: read aloud. */
  label: string
  value: string
  onChange: (value: string) => void
  placeholder?: string
  autoFocus?: boolean
}

/** Text that narrows a list. Escape empties it. */
export function SearchInput({ label, value, onChange, placeholder, ...rest }: SearchInputProps) {
  return (
    <span className="search">
      <Search size={14} aria-hidden="true" />
      <input
        {...rest}
        className="input"
        type="search"
        aria-label={label}
        placeholder={placeholder ?? label}
        value={value}
        autoComplete="off"
        spellCheck={false}
        onChange={(e) => onChange(e.target.value)}
        onKeyDown={(e) => {
          if (e.key !== 'Escape' || !value) return
          e.stopPropagation()
          onChange('')
        }}
      />
      {value && (
        <button type="button" className="search-clear" aria-label="Clear" onClick={() => onChange('')}>
          <X size={14} />
        </button>
      )}
    </span>
  )
}

export interface SegmentedProps<T extends string> {
  label: string
  /** '': none is chosen yet. */
  value: T | ''
  onChange: (value: T) => void
  options: readonly { value: T; label: ReactNode; title?: string }[]
}

/** One of a few, all seen at once: a group of radio buttons. */
export function Segmented<T extends string>({ label, value, onChange, options }: SegmentedProps<T>) {
  const name = useId()
  return (
    <div className="segmented" role="radiogroup" aria-label={label}>
      {options.map((one) => (
        <label key={one.value} title={one.title}>
          <input
            type="radio"
            name={name}
            checked={value === one.value}
            onChange={() => onChange(one.value)}
          />
          <span>{one.label}</span>
        </label>
      ))}
    </div>
  )
}
