import { Field, Input } from '@/ui'

/** A password input. `current` marks an existing password for the password manager of the browser. */
export function PasswordField({
  label,
  hint,
  error,
  current,
  value,
  onChange,
}: {
  label: string
  hint?: string
  error: string | undefined
  current?: boolean
  value: string
  onChange: (value: string) => void
}) {
  return (
    <Field label={label} hint={hint} error={error}>
      <Input
        type="password"
        autoComplete={current ? 'current-password' : 'new-password'}
        value={value}
        onChange={(e) => onChange(e.target.value)}
      />
    </Field>
  )
}
