import { CircleAlert, CircleCheck, Info, X } from 'lucide-react'
import { createContext, useCallback, useContext, useMemo, useRef, useState, type ReactNode } from 'react'

import { IconButton } from './Button'
import { explain } from './ErrorNotice'

type ToastTone = 'ok' | 'info' | 'bad'

interface ToastItem {
  id: number
  tone: ToastTone
  title: ReactNode
  text?: ReactNode
}

export interface Toasts {
  /** Reports a success. */
  ok: (title: ReactNode, text?: ReactNode) => void
  info: (title: ReactNode, text?: ReactNode) => void
  /** Reports an error, for actions without space for an ErrorNotice. */
  failed: (error: unknown) => void
}

const ToastContext = createContext<Toasts | null>(null)

/** Milliseconds until a message disappears. Errors stay until they are closed. */
const VISIBLE_MS = 5_000
/** The maximum number of visible messages. */
const MAX_TOASTS = 4

const ICONS = { ok: CircleCheck, info: Info, bad: CircleAlert } as const

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<ToastItem[]>([])
  const next = useRef(1)
  const close = useCallback((id: number) => setShown((all) => all.filter((item) => item.id !== id)), [])
  const add = useCallback(
    (tone: ToastTone, title: ReactNode, text?: ReactNode) => {
      const id = next.current++
      setShown((all) => [...all.slice(1 - MAX_TOASTS), { id, tone, title, text }])
      if (tone !== 'bad') window.setTimeout(() => close(id), VISIBLE_MS)
    },
    [close],
  )
  const toasts = useMemo<Toasts>(
    () => ({
      ok: (title, text) => add('ok', title, text),
      info: (title, text) => add('info', title, text),
      failed: (error) => {
        const { title, advice } = explain(error)
        add('bad', title, advice)
      },
    }),
    [add],
  )
  return (
    <ToastContext value={toasts}>
      {children}
      <div className="toasts" role="region" aria-label="Messages" aria-live="polite">
        {shown.map((item) => {
          const Icon = ICONS[item.tone]
          return (
            <div key={item.id} className={`toast toast-${item.tone}`}>
              <Icon size={16} aria-hidden="true" />
              <div className="toast-text">
                <b>{item.title}</b>
                {item.text && <div className="muted">{item.text}</div>}
              </div>
              <IconButton label="Close the message" size="s" onClick={() => close(item.id)}>
                <X size={14} />
              </IconButton>
            </div>
          )
        })}
      </div>
    </ToastContext>
  )
}

/** Returns functions that show messages: `const toast = useToast(); toast.ok('Key revoked')`. */
export function useToast(): Toasts {
  const toasts = useContext(ToastContext)
  if (!toasts) throw new Error('useToast outside of ToastProvider')
  return toasts
}
