import { Notice } from '@/ui'

import { degradedText, isShownElsewhere } from '../explain'
import type { SearchMeta } from '../types'

/** What is missing from a response, and why. */
export function Degraded({ meta: { degraded } }: { meta: SearchMeta }) {
  if (!degraded) return null
  return (
    <Notice tone="warn" title="Degraded: partial results">
      <p>Unavailable: {degradedText(degraded)}.</p>
      {isShownElsewhere(degraded) && (
        <p>
          Results are complete again when it is available. <b>Indexes</b> and <b>Overview</b> show the cause.
        </p>
      )}
    </Notice>
  )
}
