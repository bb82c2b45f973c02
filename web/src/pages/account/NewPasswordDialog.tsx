import { Button, Dialog, Name, Notice, Secret } from '@/ui'

/** Shows the generated password of an operator. It is not stored and is lost when the dialog closes. */
export function NewPasswordDialog({
  title,
  name,
  password,
  onClose,
}: {
  title: string
  name: string
  password: string
  onClose: () => void
}) {
  return (
    <Dialog
      open
      sticky
      onClose={onClose}
      size="s"
      title={title}
      footer={<Button onClick={onClose}>I have saved it</Button>}
    >
      <div className="stack">
        <Notice tone="warn" title="The password is shown once">
          <p>
            Give it to <Name text={name} strong />, who should change it after the first login.
          </p>
        </Notice>
        <Secret kind="password" text={password} />
      </div>
    </Dialog>
  )
}
