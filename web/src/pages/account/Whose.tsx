import { useSession } from '@/app/session'

/** Says whose passwords a form is about, so that a password manager knows. Nobody sees it. */
export function Whose() {
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
