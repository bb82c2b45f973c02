import { CircleAlert, CircleCheck, Info, X } from 'lucide-react'
import { createContext, useCallback, useContext, useMemo, useRef, useState, type ReactNode } from 'react'

import { IconButton } from './Button'
import { explain } from './ErrorNotice'

type ToastTone = 'ok' | 'info' | 'bad'

interface Shown {
  id: number
  tone: ToastTone
  title: ReactNode
  text?: ReactNode
}

export interface Toasts {
  /** It was done. */
  ok: (title: ReactNode, text?: ReactNode) => void
  info: (title: ReactNode, text?: ReactNode) => void
  /** It was not: what the error says. For errors of what was pressed somewhere without room for an ErrorNotice. */
  failed: (error: unknown) => void
}

const ToastContext = createContext<Toasts | null>(null)

/** Milliseconds that one stays; errors stay until they are closed. */
const STAYS = 5_000
/** How many are seen at once. */
const MOST = 4

const ICONS = { ok: CircleCheck, info: Info, bad: CircleAlert } as const

export function ToastProvider({ children }: { children: ReactNode }) {
  const [shown, setShown] = useState<Shown[]>([])
  const next = useRef(1)
  const close = useCallback((id: number) => setShown((all) => all.filter((one) => one.id !== id)), [])
  const add = useCallback(
    (tone: ToastTone, title: ReactNode, text?: ReactNode) => {
      const id = next.current++
      setShown((all) => [...all.slice(1 - MOST), { id, tone, title, text }])
      if (tone !== 'bad') window.setTimeout(() => close(id), STAYS)
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
        {shown.map((one) => {
          const Icon = ICONS[one.tone]
          return (
            <div key={one.id} className={`toast toast-${one.tone}`}>
              <Icon size={16} aria-hidden="true" />
              <div className="toast-text">
                <b>{one.title}</b>
                {one.text && <div className="muted">{one.text}</div>}
              </div>
              <IconButton label="Close the message" size="s" onClick={() => close(one.id)}>
                <X size={14} />
              </IconButton>
            </div>
          )
        })}
      </div>
    </ToastContext>
  )
}

/** Messages that come and go: `const toast = useToast(); toast.ok('Key revoked')`. */
export function useToast(): Toasts {
  const toasts = useContext(ToastContext)
  if (!toasts) throw new Error('useToast outside of ToastProvider')
  return toasts
}
