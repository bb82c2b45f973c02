import * as Radix from '@radix-ui/react-tooltip'
import type { ReactElement, ReactNode } from 'react'

export const TooltipProvider = ({ children }: { children: ReactNode }) => (
  <Radix.Provider delayDuration={350} skipDelayDuration={200}>
    {children}
  </Radix.Provider>
)

/** A hint on hover and focus. It must not be the only place of required information, because phones do not show it. */
export function Tooltip({
  text,
  side = 'top',
  children,
}: {
  text: ReactNode
  side?: Radix.TooltipContentProps['side']
  children: ReactElement
}) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content className="tooltip" side={side} sideOffset={6} collisionPadding={8}>
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}
