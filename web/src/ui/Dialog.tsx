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
  /** Escape, the cross, a press beside it. */
  onClose: () => void
  title: ReactNode
  lead?: ReactNode
  size?: 's' | 'm' | 'l'
  /** From the right, as high as the window: for looking at one thing of a list. */
  side?: boolean
  /** It closes by its own buttons alone: for what would be lost. */
  sticky?: boolean
  footer?: ReactNode
  /** With it, what is inside is a form, and Enter sends it. */
  onSubmit?: () => void
  children?: ReactNode
}

/**
 * A dialog: it holds the focus, closes by Escape and restores the focus. The scrim is ours rather than Radix's
 * Overlay, which locks scrolling by a style element that the page's policy forbids.
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
  const keep = sticky ? (e: Event) => e.preventDefault() : undefined
  // A message is closed without closing the dialog that it is about.
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
            onEscapeKeyDown={keep}
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

/** The first field; where there is none, the dialog itself, so that it is read out from its title on. */
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
  /** What will happen, and whether it can be taken back. */
  children: ReactNode
  /** On the button: what is done, not "OK". */
  action: string
  danger?: boolean
  /** This has to be typed first. For what destroys. */
  phrase?: string
  onConfirm: () => void
  busy?: boolean
  error?: unknown
}

/** Asks before something is done. */
export function Confirm(props: ConfirmProps) {
  // What was typed is gone when it is opened again.
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

/** Where a phrase is typed, so that what destroys is not done by a slip of the hand. */
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
