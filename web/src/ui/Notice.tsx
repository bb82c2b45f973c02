import { CircleCheck, Info, TriangleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

const ICONS = { info: Info, ok: CircleCheck, warn: TriangleAlert } as const

/** A permanent notice. Use ErrorNotice for errors. */
export function Notice({
  tone = 'info',
  title,
  actions,
  children,
}: {
  tone?: keyof typeof ICONS
  title?: ReactNode
  actions?: ReactNode
  children?: ReactNode
}) {
  const Icon = ICONS[tone]
  return (
    <div className={`notice notice-${tone}`}>
      <Icon size={18} aria-hidden="true" />
      <div className="notice-text">
        {title && <b>{title}</b>}
        {children}
      </div>
      {actions && <div className="row">{actions}</div>}
    </div>
  )
}

/** The empty state of a list: what it would contain, and how to add something. */
export function Empty({
  icon,
  title,
  children,
  actions,
}: {
  icon?: ReactNode
  title: string
  children?: ReactNode
  actions?: ReactNode
}) {
  return (
    <div className="empty">
      {icon && (
        <div className="empty-icon" aria-hidden="true">
          {icon}
        </div>
      )}
      <p className="empty-title">{title}</p>
      {children && <div className="empty-text">{children}</div>}
      {actions && <div className="row">{actions}</div>}
    </div>
  )
}

/** A placeholder while data is loading: `lines` of text or one block of `height`. */
export function Skeleton({
  lines = 1,
  height,
  width,
}: {
  lines?: number
  height?: number | string
  width?: number | string
}) {
  return (
    <div className="skeleton-box" aria-hidden="true">
      {Array.from({ length: lines }, (_, i) => (
        <div
          key={i}
          className="skeleton"
          style={{ height, width: width ?? (lines > 1 && i === lines - 1 ? '60%' : undefined) }}
        />
      ))}
    </div>
  )
}

/** A loading message for screen readers, beside skeletons. */
export function Loading({ what = 'Loading' }: { what?: string }) {
  return (
    <span className="sr-only" role="status">
      {what}
    </span>
  )
}
