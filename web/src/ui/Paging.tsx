import { ChevronLeft, ChevronRight } from 'lucide-react'

import type { Meta } from '@/api/client'

import { Button, IconButton } from './Button'
import { num } from './format'

/** Shows the position within a list, with buttons to page by offset. */
export function Pager({
  meta,
  onOffset,
  what = 'in all',
}: {
  meta: Meta
  onOffset: (offset: number) => void
  what?: string
}) {
  const first = meta.total === 0 ? 0 : meta.offset + 1
  const last = Math.min(meta.offset + meta.limit, meta.total)
  return (
    <div className="pager">
      <span className="muted" role="status">
        {num(first)}–{num(last)} of {num(meta.total)}
        {meta.truncated ? '+' : ''} {what}
      </span>
      <span className="row">
        <IconButton
          label="Previous page"
          disabled={meta.offset === 0}
          onClick={() => onOffset(Math.max(meta.offset - meta.limit, 0))}
        >
          <ChevronLeft size={16} />
        </IconButton>
        <IconButton
          label="Next page"
          disabled={!meta.hasMore}
          onClick={() => onOffset(meta.offset + meta.limit)}
        >
          <ChevronRight size={16} />
        </IconButton>
      </span>
    </div>
  )
}

/** A button that loads the next page by cursor. */
export function MoreButton({
  shown,
  total,
  truncated,
  hasMore,
  busy,
  onMore,
}: {
  shown: number
  total?: number
  truncated?: boolean | undefined
  hasMore: boolean
  busy?: boolean
  onMore: () => void
}) {
  return (
    <div className="pager">
      <span className="muted" role="status">
        {num(shown)}
        {total !== undefined && ` of ${num(total)}${truncated ? '+' : ''}`} shown
      </span>
      {hasMore && (
        <Button size="s" busy={busy} onClick={onMore}>
          Show more
        </Button>
      )}
    </div>
  )
}
