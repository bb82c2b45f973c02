import * as Radix from '@radix-ui/react-dialog'
import { X } from 'lucide-react'
import { useState, type SyntheticEvent, type ReactNode } from 'react'

import { Button, IconButton } from './Button'
import { ErrorNotice } from './ErrorNotice'
import { Field, Input } from './Field'
import { useReturningFocus } from './focus'
import { cx } from './format'

export interface DialogProps {
  open: boolean
  /** Called by Escape, the close button and a press outside. */
  onClose: () => void
  title: ReactNode
  lead?: ReactNode
  size?: 's' | 'm' | 'l'
  /** A panel at the right with the full height, for the details of a list item. */
  side?: boolean
  /** It closes only by its own buttons, to prevent loss of its contents. */
  sticky?: boolean
  footer?: ReactNode
  /** With it, the contents are a form, and Enter submits it. */
  onSubmit?: () => void
  children?: ReactNode
}

/**
 * A modal dialog: it traps the focus, closes by Escape and restores the focus. It has its own scrim, because the
 * Overlay of Radix locks scrolling by a style element that the content security policy forbids.
 */
export function Dialog({
  open,
  onClose,
  title,
  lead,
  size = 'm',
  side,
  sticky,
  footer,
  onSubmit,
  children,
}: DialogProps) {
  const focus = useReturningFocus(firstField)
  const preventClose = sticky ? (e: Event) => e.preventDefault() : undefined
  // Closing a toast does not close the dialog.
  const outside = (e: Event & { detail: { originalEvent: Event } }) => {
    const { target } = e.detail.originalEvent
    if (sticky || (target instanceof Element && target.closest('.toasts'))) e.preventDefault()
  }
  const inside = (
    <>
      <div className="dialog-body">{children}</div>
      {footer && <div className="dialog-foot">{footer}</div>}
    </>
  )
  const submit = (e: SyntheticEvent) => {
    e.preventDefault()
    e.stopPropagation()
    onSubmit?.()
  }
  return (
    <Radix.Root open={open} onOpenChange={(next) => !next && onClose()}>
      <Radix.Portal>
        <div className={cx('scrim', side && 'scrim-side')}>
          <Radix.Content
            className={cx('dialog', `dialog-${size}`, side && 'dialog-side')}
            {...focus}
            onEscapeKeyDown={preventClose}
            onPointerDownOutside={outside}
            onInteractOutside={outside}
            {...(lead ? {} : { 'aria-describedby': undefined })}
          >
            <header className="dialog-head">
              <div className="dialog-title">
                <Radix.Title asChild>
                  <h2>{title}</h2>
                </Radix.Title>
                {lead && <Radix.Description className="muted">{lead}</Radix.Description>}
              </div>
              {!sticky && (
                <IconButton label="Close" size="s" onClick={onClose}>
                  <X size={16} />
                </IconButton>
              )}
            </header>
            {onSubmit ? (
              <form className="dialog-form" onSubmit={submit} noValidate>
                {inside}
              </form>
            ) : (
              inside
            )}
          </Radix.Content>
        </div>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** Returns the first field; without one the dialog itself, so that it is read out from its title. */
function firstField(dialog: HTMLElement): HTMLElement {
  const field = dialog.querySelector<HTMLElement>(
    '.dialog-body :is(input:not([type=hidden], [readonly]), textarea, select):not(:disabled)',
  )
  return field ?? dialog
}

export interface ConfirmProps {
  open: boolean
  onClose: () => void
  title: ReactNode
  /** The effect of the action, and whether it can be undone. */
  children: ReactNode
  /** The label of the button: the action, not "OK". */
  action: string
  danger?: boolean
  /** A text that must be typed first, for destructive actions. */
  phrase?: string
  onConfirm: () => void
  busy?: boolean
  error?: unknown
}

/** A confirmation dialog. */
export function Confirm(props: ConfirmProps) {
  // The typed text is cleared when the dialog is opened again.
  return props.open ? <OpenConfirm {...props} /> : null
}

function OpenConfirm({
  open,
  onClose,
  title,
  children,
  action,
  danger,
  phrase,
  onConfirm,
  busy,
  error,
}: ConfirmProps) {
  const [typed, setTyped] = useState('')
  const ready = !phrase || typed === phrase
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title={title}
      size="s"
      onSubmit={() => ready && !busy && onConfirm()}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" variant={danger ? 'danger' : 'primary'} busy={busy} disabled={!ready}>
            {action}
          </Button>
        </>
      }
    >
      <div className="stack">
        <div className="prose">{children}</div>
        {phrase && <PhraseField phrase={phrase} typed={typed} onType={setTyped} />}
        {Boolean(error) && <ErrorNotice error={error} compact />}
      </div>
    </Dialog>
  )
}

/** An input for a confirmation phrase, which prevents accidental destructive actions. */
export function PhraseField({
  phrase,
  typed,
  onType,
}: {
  phrase: string
  typed: string
  onType: (typed: string) => void
}) {
  return (
    <Field
      label={
        <>
          Type <b className="phrase">{phrase}</b> to confirm
        </>
      }
    >
      <Input value={typed} onChange={(e) => onType(e.target.value)} spellCheck={false} />
    </Field>
  )
}
