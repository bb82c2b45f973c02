import { useSession } from '@/app/session'

/** A hidden input with the operator's name, by which a password manager identifies the account. */
export function HiddenUsername() {
  const { data: session } = useSession()
  return (
    <input
      className="sr-only"
      name="username"
      autoComplete="username"
      value={session?.operator.name ?? ''}
      readOnly
      tabIndex={-1}
      aria-hidden="true"
    />
  )
}
