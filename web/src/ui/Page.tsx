import { useEffect, type ReactNode } from 'react'

import { cx } from './format'

export interface PageProps {
  title: string
  /** One sentence on what it is for. */
  lead?: ReactNode
  /** Buttons beside the title; the primary one last. */
  actions?: ReactNode
  /** Above the title: where one is, for pages below a page. */
  trail?: ReactNode
  /** The whole width, and as high as the window: for canvases. */
  full?: boolean
  children: ReactNode
}

/** The frame of every page: its title, in the window's title, too, and what is done there. */
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
  /** Small text beside the title. */
  note?: ReactNode
  actions?: ReactNode
  /** Without padding: for tables and canvases. */
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
