import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link, type LinkProps } from 'react-router'

import { cx } from './format'
import { Tooltip } from './Tooltip'

type Variant = 'default' | 'primary' | 'danger' | 'ghost'

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: Variant
  size?: 's' | 'm'
  icon?: ReactNode
  /** Busy: it cannot be pressed, announces this, and keeps the focus. */
  busy?: boolean
}

/** What does something. One primary a view; danger for what cannot be taken back. */
export function Button({
  variant = 'default',
  size = 'm',
  icon,
  busy,
  className,
  children,
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={cx('btn', `btn-${variant}`, size === 's' && 'btn-s', className)}
      aria-busy={busy || undefined}
      aria-disabled={busy || undefined}
      onClick={(e) => {
        if (busy) e.preventDefault()
        else onClick?.(e)
      }}
    >
      {icon}
      <span className="btn-text">{children}</span>
    </button>
  )
}

export interface IconButtonProps extends Omit<ButtonProps, 'icon' | 'children'> {
  /** What it does: read aloud, and shown as a tooltip. */
  label: string
  children: ReactNode
  pressed?: boolean
}

/** A button with a picture alone. */
export function IconButton({
  label,
  children,
  pressed,
  variant = 'ghost',
  size = 'm',
  busy,
  className,
  ...rest
}: IconButtonProps) {
  return (
    <Tooltip text={label}>
      <button
        type="button"
        {...rest}
        className={cx('btn', 'btn-icon', `btn-${variant}`, size === 's' && 'btn-s', className)}
        aria-label={label}
        aria-pressed={pressed}
        aria-busy={busy || undefined}
      >
        {children}
      </button>
    </Tooltip>
  )
}

export interface ButtonLinkProps extends LinkProps {
  variant?: Variant
  size?: 's' | 'm'
  icon?: ReactNode
}

/** A link that looks like a button, for what leads to another page. */
export function ButtonLink({
  variant = 'default',
  size = 'm',
  icon,
  className,
  children,
  ...rest
}: ButtonLinkProps) {
  return (
    <Link {...rest} className={cx('btn', `btn-${variant}`, size === 's' && 'btn-s', className)}>
      {icon}
      <span className="btn-text">{children}</span>
    </Link>
  )
}
