import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { api, useEvents, type StreamState } from '@/api'

import { appended, fromNow, fromPast, type Moment, type Overview, type Past } from './model'

export interface Live {
  now: Overview | undefined
  moments: readonly Moment[]
  stream: StreamState
  error: unknown
  reload: () => void
}

/** How it is, each second, and how it was in the last minutes. */
export function useOverview(): Live {
  const first = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.get<Overview & { history: Past[] }>('/overview', { signal }),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const [live, setLive] = useState<{ now: Overview; moments: readonly Moment[] } | null>(null)
  const stream = useEvents('/overview/stream', {
    onEvent: (event) => {
      if (event.event !== 'overview') return
      const now = JSON.parse(event.data) as Overview
      setLive((before) => ({ now, moments: appended(before?.moments ?? [], fromNow(now)) }))
    },
  })
  const past = first.data?.history.map(fromPast) ?? []
  const since = live?.moments[0]?.at ?? Infinity
  const oldest = (live?.moments.at(-1)?.at ?? 0) - 600
  return {
    now: live?.now ?? first.data,
    moments: [...past.filter((m) => m.at < since && m.at > oldest), ...(live?.moments ?? [])],
    stream,
    error: live ? null : first.error,
    reload: () => void first.refetch(),
  }
}
