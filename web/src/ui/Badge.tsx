import type { ReactNode } from 'react'

import { cx } from './format'
import type { Tone } from './tone'

/** A status label. With `dot`, a dot of its colour before it. */
export function Badge({
  tone = 'neutral',
  dot,
  children,
}: {
  tone?: Tone
  dot?: boolean
  children: ReactNode
}) {
  return (
    <span className={cx('badge', `badge-${tone}`)}>
      {dot && <span className={cx('dot', `dot-${tone}`)} aria-hidden="true" />}
      {children}
    </span>
  )
}

/** A coloured dot beside a text that carries the same information. */
export function Dot({ tone, pulse }: { tone: Tone; pulse?: boolean }) {
  return <span className={cx('dot', `dot-${tone}`, pulse && 'dot-pulse')} aria-hidden="true" />
}
