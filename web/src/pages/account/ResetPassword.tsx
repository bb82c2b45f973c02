import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { api, type Operator } from '@/api'
import { useShowDialog } from '@/app/dialogs'
import { Button, Dialog, ErrorNotice, fieldError, Name } from '@/ui'

import { OPERATORS } from './operators'
import { PasswordField } from './PasswordField'
import { NewPasswordDialog } from './NewPasswordDialog'
import { HiddenUsername } from './HiddenUsername'

/**
 * Sets a new password for another operator. It requires the operator's own password, in case a session was left open.
 */
export function ResetPassword({ operator, onClose }: { operator: Operator; onClose: () => void }) {
  const queries = useQueryClient()
  const [ownPassword, setOwnPassword] = useState('')
  const showDialog = useShowDialog()
  const reset = useMutation({
    // The password is passed to the dialog, because mutations are cached.
    mutationFn: async () => {
      const changed = await api.post<Operator>(`/operators/${operator.id}/password`, {
        body: { ownPassword: ownPassword },
      })
      setOwnPassword('')
      const { password = '' } = changed
      showDialog((close) => (
        <NewPasswordDialog
          title="The new password"
          name={operator.name}
          password={password}
          onClose={close}
        />
      ))
    },
    onSuccess: () => queries.invalidateQueries({ queryKey: OPERATORS }),
  })
  const wrong = fieldError(reset.error, 'ownPassword')
  return (
    <Dialog
      open
      sticky={reset.isPending}
      onClose={onClose}
      size="s"
      title="Reset the password?"
      lead="A new password is generated and shown once."
      onSubmit={() => ownPassword && !reset.isPending && reset.mutate(undefined, { onSuccess: onClose })}
      footer={
        <>
          <Button onClick={onClose} disabled={reset.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="danger" busy={reset.isPending} disabled={!ownPassword}>
            Reset password
          </Button>
        </>
      }
    >
      <div className="stack">
        <p>
          <Name text={operator.name} strong /> is logged out everywhere at once and needs the new password to
          log in.
        </p>
        <HiddenUsername />
        <PasswordField
          label="Your own password"
          hint="Confirms that it is you."
          error={wrong && 'Wrong password'}
          current
          value={ownPassword}
          onChange={setOwnPassword}
        />
        {reset.error && !wrong && <ErrorNotice error={reset.error} compact />}
      </div>
    </Dialog>
  )
}
