import { Check, Copy } from 'lucide-react'
import { useEffect, useRef, useState, type ReactNode } from 'react'

import { cx } from './format'
import { Tooltip } from './Tooltip'

/** Copies a text. Returns false if the browser refused it. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    return copyBySelection(text)
  }
}

/** Copies by a selection, because pages over plain HTTP have no clipboard API. */
function copyBySelection(text: string): boolean {
  const area = document.createElement('textarea')
  area.value = text
  area.className = 'sr-only'
  // The element must be inside an open dialog, which traps the focus.
  const host = document.activeElement?.closest('[role=dialog]') ?? document.body
  const before = document.activeElement
  host.append(area)
  area.select()
  let done = false
  try {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- there is nothing else without TLS
    done = document.execCommand('copy')
  } catch {
    done = false
  }
  area.remove()
  if (before instanceof HTMLElement) before.focus()
  return done
}

/** A button that copies a text and confirms it for a moment. */
export function CopyButton({
  text,
  label = 'Copy',
  children,
  className,
  onCopied,
}: {
  text: string
  label?: string
  children?: ReactNode
  className?: string
  onCopied?: () => void
}) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle')
  const timer = useRef<number | undefined>(undefined)
  useEffect(() => () => window.clearTimeout(timer.current), [])
  const copy = async () => {
    const done = await copyText(text)
    setState(done ? 'done' : 'failed')
    if (done) onCopied?.()
    window.clearTimeout(timer.current)
    timer.current = window.setTimeout(() => setState('idle'), 2000)
  }
  const message =
    state === 'done' ? 'Copied' : state === 'failed' ? 'Not copied: select the text by hand' : label
  return (
    <Tooltip text={message}>
      <button
        type="button"
        className={cx('btn', children ? 'btn-default' : 'btn-ghost btn-icon', 'btn-s', className)}
        aria-label={children ? undefined : label}
        onClick={() => void copy()}
      >
        {state === 'done' ? <Check size={14} className="tone-ok" /> : <Copy size={14} />}
        {children && <span className="btn-text">{state === 'idle' ? children : message}</span>}
        <span className="sr-only" role="status">
          {state === 'idle' ? '' : message}
        </span>
      </button>
    </Tooltip>
  )
}

/** A short text, such as an id, with a button that copies all of it. */
export function Copyable({ text, shown, label }: { text: string; shown?: ReactNode; label?: string }) {
  return (
    <span className="copyable">
      <code title={text.slice(0, 512)}>{shown ?? text}</code>
      <CopyButton text={text} label={label ?? 'Copy'} />
    </span>
  )
}

/** A text that is shown once, such as a new key. The caller does not store it. */
export function Secret({ kind, text, onCopied }: { kind: string; text: string; onCopied?: () => void }) {
  return (
    <div className="secret">
      <code data-secret={kind}>{text}</code>
      <CopyButton text={text} {...(onCopied && { onCopied })}>
        Copy
      </CopyButton>
    </div>
  )
}

/** Several lines, such as a command, with a button that copies them. */
export function CodeBlock({ code, label }: { code: string; label?: string }) {
  return (
    <figure className="code">
      {/* It scrolls, so it must be focusable. */}
      {/* eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre tabIndex={0} aria-label={label ?? 'Code'} role="region">
        <code>{code}</code>
      </pre>
      <CopyButton text={code} label="Copy" />
    </figure>
  )
}
