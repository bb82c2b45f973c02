import { useMutation } from '@tanstack/react-query'
import { useState, type SyntheticEvent } from 'react'

import { api } from '@/api'
import { forget } from '@/app/session'
import { Button, ErrorNotice, fieldError, Panel, useToast } from '@/ui'

import { PasswordField } from './PasswordField'
import { Whose } from './Whose'

/** As the server has it. */
const SHORTEST = 12

export function Password() {
  const toast = useToast()
  const [current, setCurrent] = useState('')
  const [fresh, setFresh] = useState('')
  const [again, setAgain] = useState('')
  const [tried, setTried] = useState(false)
  const change = useMutation({
    mutationFn: () => api.put('/session/password', { body: { current, new: fresh } }),
    onSuccess: () => {
      toast.ok('Password changed', 'All your sessions have ended. Log in with the new password.')
      forget()
    },
  })
  const short = [...fresh].length < SHORTEST ? `At least ${SHORTEST} characters` : undefined
  const other = fresh !== again ? 'The passwords do not match' : undefined
  const submit = (e: SyntheticEvent) => {
    e.preventDefault()
    setTried(true)
    if (current && !short && !other && !change.isPending) change.mutate()
  }
  const shown = (problem: string | undefined) => (tried ? problem : undefined)
  return (
    <Panel title="Password">
      <form className="stack" onSubmit={submit} noValidate>
        <Whose />
        <PasswordField
          label="Current password"
          error={shown(current ? undefined : 'Required') ?? fieldError(change.error, 'current')}
          current
          value={current}
          onChange={setCurrent}
        />
        <PasswordField
          label="New password"
          hint={`At least ${SHORTEST} characters; a few words work best`}
          error={shown(short) ?? fieldError(change.error, 'new')}
          value={fresh}
          onChange={setFresh}
        />
        <PasswordField label="New password again" error={shown(other)} value={again} onChange={setAgain} />
        {change.error && !fieldError(change.error, 'current', 'new') && (
          <ErrorNotice error={change.error} compact />
        )}
        <div className="row spread">
          <span className="field-hint">All your sessions end, including this one.</span>
          <Button type="submit" busy={change.isPending}>
            Change password
          </Button>
        </div>
      </form>
    </Panel>
  )
}
