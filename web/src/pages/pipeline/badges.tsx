import { Badge } from '@/ui'

import type { DeadLetterState, ReplayState } from './shapes'

const DEAD_LETTER_TONES = { open: 'warn', redriven: 'ok', discarded: 'neutral' } as const

export const StateBadge = ({ state }: { state: DeadLetterState }) => (
  <Badge tone={DEAD_LETTER_TONES[state]} dot>
    {state}
  </Badge>
)

const REPLAY_TONES = {
  queued: 'neutral',
  running: 'accent',
  done: 'ok',
  failed: 'bad',
  cancelled: 'neutral',
} as const

export function ReplayBadge({ state, cancelling }: { state: ReplayState; cancelling: boolean }) {
  return (
    <Badge tone={REPLAY_TONES[state]} dot>
      {cancelling && (state === 'running' || state === 'queued') ? 'being cancelled' : state}
    </Badge>
  )
}
