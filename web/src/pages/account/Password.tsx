import { useMutation } from '@tanstack/react-query'
import { useState, type SyntheticEvent } from 'react'

import { api } from '@/api'
import { clearSession } from '@/app/session'
import { Button, ErrorNotice, fieldError, Panel, useToast } from '@/ui'

import { PasswordField } from './PasswordField'
import { HiddenUsername } from './HiddenUsername'

/** The minimum length that the server requires. */
const MIN_LENGTH = 12

export function Password() {
  const toast = useToast()
  const [current, setCurrent] = useState('')
  const [newPassword, setNewPassword] = useState('')
  const [repeated, setRepeated] = useState('')
  const [submitted, setSubmitted] = useState(false)
  const change = useMutation({
    mutationFn: () => api.put('/session/password', { body: { current, new: newPassword } }),
    onSuccess: () => {
      toast.ok('Password changed', 'All your sessions have ended. Log in with the new password.')
      clearSession()
    },
  })
  const tooShort = [...newPassword].length < MIN_LENGTH ? `At least ${MIN_LENGTH} characters` : undefined
  const mismatch = newPassword !== repeated ? 'The passwords do not match' : undefined
  const submit = (e: SyntheticEvent) => {
    e.preventDefault()
    setSubmitted(true)
    if (current && !tooShort && !mismatch && !change.isPending) change.mutate()
  }
  const shown = (problem: string | undefined) => (submitted ? problem : undefined)
  return (
    <Panel title="Password">
      <form className="stack" onSubmit={submit} noValidate>
        <HiddenUsername />
        <PasswordField
          label="Current password"
          error={shown(current ? undefined : 'Required') ?? fieldError(change.error, 'current')}
          current
          value={current}
          onChange={setCurrent}
        />
        <PasswordField
          label="New password"
          hint={`At least ${MIN_LENGTH} characters; a few words work best`}
          error={shown(tooShort) ?? fieldError(change.error, 'new')}
          value={newPassword}
          onChange={setNewPassword}
        />
        <PasswordField
          label="New password again"
          error={shown(mismatch)}
          value={repeated}
          onChange={setRepeated}
        />
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
