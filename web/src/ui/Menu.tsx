import * as Radix from '@radix-ui/react-dropdown-menu'
import type { ReactElement, ReactNode } from 'react'

import { cx } from './format'

/** A menu under a button. It is not modal, because the content security policy forbids how Radix locks scrolling. */
export function Menu({
  trigger,
  align = 'end',
  children,
}: {
  trigger: ReactElement
  align?: 'start' | 'end'
  children: ReactNode
}) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className="menu" align={align} sideOffset={4} collisionPadding={8}>
          {children}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

export interface MenuItemProps {
  icon?: ReactNode
  danger?: boolean
  disabled?: boolean
  /** At the right: a shortcut or a check mark. */
  hint?: ReactNode
  onSelect: () => void
  children: ReactNode
}

export function MenuItem({ icon, danger, disabled, hint, onSelect, children }: MenuItemProps) {
  return (
    <Radix.Item className={cx('menu-item', danger && 'menu-danger')} disabled={disabled} onSelect={onSelect}>
      {icon}
      <span className="menu-text">{children}</span>
      {hint && <span className="menu-hint">{hint}</span>}
    </Radix.Item>
  )
}

export const MenuLabel = ({ children }: { children: ReactNode }) => (
  <Radix.Label className="menu-label">{children}</Radix.Label>
)
export const MenuSeparator = () => <Radix.Separator className="menu-line" />
