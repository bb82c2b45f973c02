import { useEffect, type ReactNode } from 'react'

import { cx } from './format'

export interface PageProps {
  title: string
  /** One sentence about the purpose of the page. */
  lead?: ReactNode
  /** Buttons beside the title; the primary one last. */
  actions?: ReactNode
  /** A breadcrumb above the title, for nested pages. */
  trail?: ReactNode
  /** The full width and the height of the window, for canvases. */
  full?: boolean
  children: ReactNode
}

/** The frame of every page. It sets the title of the window. */
export function Page({ title, lead, actions, trail, full, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Livegraph`
  }, [title])
  return (
    <div className={cx('page', full && 'page-full')}>
      <header className="page-head">
        <div className="page-title">
          {trail && (
            <nav className="page-trail" aria-label="Breadcrumb">
              {trail}
            </nav>
          )}
          <h1 tabIndex={-1}>{title}</h1>
          {lead && <p className="muted">{lead}</p>}
        </div>
        {actions && <div className="row page-actions">{actions}</div>}
      </header>
      {children}
    </div>
  )
}

export interface PanelProps {
  title?: ReactNode
  /** A short text beside the title. */
  note?: ReactNode
  actions?: ReactNode
  /** No padding, for tables and canvases. */
  flush?: boolean
  className?: string
  children: ReactNode
}

/** A surface with a heading. */
export function Panel({ title, note, actions, flush, className, children }: PanelProps) {
  return (
    <section className={cx('panel', flush && 'panel-flush', className)}>
      {(title || actions) && (
        <header className="panel-head">
          <div className="panel-title">
            {title && <h2>{title}</h2>}
            {note && <span className="panel-note">{note}</span>}
          </div>
          {actions && <div className="row">{actions}</div>}
        </header>
      )}
      <div className="panel-body">{children}</div>
    </section>
  )
}
