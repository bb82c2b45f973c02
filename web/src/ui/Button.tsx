import type { ButtonHTMLAttributes, ReactNode } from 'react'
import { Link, type LinkProps } from 'react-router'

import { cx } from './format'
import { Tooltip } from './Tooltip'

type Variant = 'default' | 'primary' | 'danger' | 'ghost'

export interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  variant?: Variant
  size?: 's' | 'm'
  icon?: ReactNode
  /** A busy button cannot be pressed, announces this, and keeps the focus. */
  busy?: boolean
}

/** A button. Use one primary button per view, and danger for irreversible actions. */
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
  /** The function of the button: read aloud, and shown as a tooltip. */
  label: string
  children: ReactNode
  pressed?: boolean
}

/** A button with an icon only. */
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

/** A link with the look of a button, for navigation. */
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
