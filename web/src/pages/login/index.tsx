import './login.css'

import { useState, type SyntheticEvent } from 'react'
import { Navigate, useSearchParams } from 'react-router'

import { ApiError } from '@/api'
import { Boot } from '@/app/Boot'
import { useLogin, useSession } from '@/app/session'
import { Brand } from '@/app/Sidebar'
import { Button, ErrorNotice, Field, Input, useNow } from '@/ui'

import { safeNext } from './next'

export default function LoginPage() {
  const session = useSession()
  const [params] = useSearchParams()
  if (session.isPending) return <Boot />
  if (session.data) return <Navigate to={safeNext(params.get('next'))} replace />
  return (
    <main className="login">
      <title>Log in · Livegraph</title>
      <div className="login-box">
        <Brand />
        <h1>Log in</h1>
        {session.isError ? (
          <ErrorNotice error={session.error} onRetry={() => void session.refetch()} />
        ) : (
          <LoginForm returning={params.has('next')} />
        )}
        <p className="login-help">
          The first start writes the name and the password to <code>first-run.json</code> in the data
          directory. To reset a password, run on the server: <code>livegraph operators password NAME</code>
        </p>
      </div>
    </main>
  )
}

function LoginForm({ returning }: { returning: boolean }) {
  const login = useLogin()
  const [name, setName] = useState('')
  const [password, setPassword] = useState('')
  const wait = useWait(login.error, login.submittedAt)
  const submit = (e: SyntheticEvent) => {
    e.preventDefault()
    if (!login.isPending && wait === 0) login.mutate({ name, password }, { onError: () => setPassword('') })
  }
  return (
    <form className="stack" onSubmit={submit} noValidate>
      {returning && !login.error && <p className="muted">Log in to see that page.</p>}
      {login.error && <LoginError error={login.error} wait={wait} />}
      <Field label="Name">
        <Input
          name="username"
          autoComplete="username"
          autoCapitalize="none"
          spellCheck={false}
          // eslint-disable-next-line jsx-a11y/no-autofocus -- it is the only thing to do here
          autoFocus
          value={name}
          onChange={(e) => setName(e.target.value)}
        />
      </Field>
      <Field label="Password">
        <Input
          name="password"
          type="password"
          autoComplete="current-password"
          value={password}
          onChange={(e) => setPassword(e.target.value)}
        />
      </Field>
      <Button
        type="submit"
        variant="primary"
        busy={login.isPending}
        disabled={!name || !password || wait > 0}
      >
        {wait > 0 ? `Wait ${wait} s` : 'Log in'}
      </Button>
    </form>
  )
}

function LoginError({ error, wait }: { error: unknown; wait: number }) {
  if (error instanceof ApiError && error.status === 401) {
    return (
      <div className="notice notice-bad notice-compact" role="alert">
        <div className="notice-text">
          <b>Name or password is wrong</b>
          <p>The password is case-sensitive.</p>
        </div>
      </div>
    )
  }
  if (error instanceof ApiError && error.status === 429) {
    return (
      <div className="notice notice-warn notice-compact" role="alert">
        <div className="notice-text">
          <b>Too many attempts</b>
          <p>{wait > 0 ? 'Logins from your network are blocked for a while.' : 'Try again now.'}</p>
        </div>
      </div>
    )
  }
  return <ErrorNotice error={error} compact />
}

/** Returns the seconds until the server allows the next attempt. */
function useWait(error: unknown, since: number): number {
  const now = useNow()
  if (!(error instanceof ApiError) || error.status !== 429) return 0
  return Math.max(0, Math.ceil((since + (error.retryAfter ?? 1) * 1000 - now) / 1000))
}
