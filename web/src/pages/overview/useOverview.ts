import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'

import { api, useEvents, type StreamState } from '@/api'

import { appended, fromNow, fromPast, type Sample, type Overview, type Past } from './model'

export interface Live {
  now: Overview | undefined
  samples: readonly Sample[]
  stream: StreamState
  error: unknown
  reload: () => void
}

/** Returns the current state, updated each second, and the samples of the last minutes. */
export function useOverview(): Live {
  const first = useQuery({
    queryKey: ['overview'],
    queryFn: ({ signal }) => api.get<Overview & { history: Past[] }>('/overview', { signal }),
    staleTime: 0,
    gcTime: 0,
    refetchOnWindowFocus: false,
  })
  const [live, setLive] = useState<{ now: Overview; samples: readonly Sample[] } | null>(null)
  const stream = useEvents('/overview/stream', {
    onEvent: (event) => {
      if (event.event !== 'overview') return
      const now = JSON.parse(event.data) as Overview
      setLive((before) => ({ now, samples: appended(before?.samples ?? [], fromNow(now)) }))
    },
  })
  const past = first.data?.history.map(fromPast) ?? []
  const since = live?.samples[0]?.at ?? Infinity
  const oldest = (live?.samples.at(-1)?.at ?? 0) - 600
  return {
    now: live?.now ?? first.data,
    samples: [...past.filter((m) => m.at < since && m.at > oldest), ...(live?.samples ?? [])],
    stream,
    error: live ? null : first.error,
    reload: () => void first.refetch(),
  }
}
