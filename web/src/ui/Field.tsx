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

interface FieldContextValue {
  id: string
  describedBy: string | undefined
  invalid: boolean
}

const FieldContext = createContext<FieldContextValue | null>(null)

export interface FieldProps {
  label: ReactNode
  /** The accepted values, shown before an error. */
  hint?: ReactNode
  /** The error and how to correct it. */
  error?: ReactNode
  /** The label is read aloud but not shown. */
  hideLabel?: boolean
  optional?: boolean
  className?: string
  /** One Input, Textarea or Select. It is associated with the label automatically. */
  children: ReactNode
}

/** A label, a control, and its hint or error. */
export function Field({ label, hint, error, hideLabel, optional, className, children }: FieldProps) {
  const id = useId()
  const describedBy = [hint && !error ? `${id}-hint` : '', error ? `${id}-error` : '']
    .filter(Boolean)
    .join(' ')
  return (
    <div className={cx('field', className)}>
      <label className={hideLabel ? 'sr-only' : 'field-label'} htmlFor={id}>
        {label}
        {optional && <span className="field-optional"> optional</span>}
      </label>
      <FieldContext value={{ id, describedBy: describedBy || undefined, invalid: Boolean(error) }}>
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

function useFieldContext() {
  const context = useContext(FieldContext)
  return context
    ? {
        id: context.id,
        'aria-describedby': context.describedBy,
        'aria-invalid': context.invalid || undefined,
      }
    : {}
}

export function Input({
  className,
  ...rest
}: InputHTMLAttributes<HTMLInputElement> & { ref?: ComponentProps<'input'>['ref'] }) {
  return <input autoComplete="off" {...useFieldContext()} {...rest} className={cx('input', className)} />
}

export function Textarea({
  className,
  ...rest
}: TextareaHTMLAttributes<HTMLTextAreaElement> & { ref?: ComponentProps<'textarea'>['ref'] }) {
  return <textarea {...useFieldContext()} {...rest} className={cx('input', 'textarea', className)} />
}

export interface SelectProps extends SelectHTMLAttributes<HTMLSelectElement> {
  /** Options instead of children. */
  options?: readonly (string | { value: string; label: string })[]
}

/** The native select of the browser: it supports keyboards, phones and ten thousand options. */
export function Select({ options, children, className, ...rest }: SelectProps) {
  return (
    <span className={cx('select', className)}>
      <select {...useFieldContext()} {...rest} className="input">
        {options?.map((item) => {
          const { value, label } = typeof item === 'string' ? { value: item, label: item } : item
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
  /** The name of the group. */
  label: ReactNode
  hint?: ReactNode
  error?: ReactNode
  /** Controls have their natural width. */
  tight?: boolean
  children: ReactNode
}

/** A group of related controls under one name. */
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
  /** The accessible name. */
  label: string
  value: string
  onChange: (value: string) => void
  placeholder?: string
  autoFocus?: boolean
}

/** A text input that filters a list. Escape clears it. */
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
  /** Empty if none is selected. */
  value: T | ''
  onChange: (value: T) => void
  options: readonly { value: T; label: ReactNode; title?: string }[]
}

/** One of a few visible options: a group of radio buttons. */
export function Segmented<T extends string>({ label, value, onChange, options }: SegmentedProps<T>) {
  const name = useId()
  return (
    <div className="segmented" role="radiogroup" aria-label={label}>
      {options.map((item) => (
        <label key={item.value} title={item.title}>
          <input
            type="radio"
            name={name}
            checked={value === item.value}
            onChange={() => onChange(item.value)}
          />
          <span>{item.label}</span>
        </label>
      ))}
    </div>
  )
}
