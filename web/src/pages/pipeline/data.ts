// Requests of the pipeline's page.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { api } from '@/api'

import { type LetterQuery, listParams, placePath } from './letters'
import { nextLook } from './replays'
import type {
  Acted,
  Action,
  ActionRequest,
  Letter,
  Place,
  PlannedReplay,
  Replay,
  ReplayRequest,
  ShownLetter,
  Topic,
} from './shapes'
import { type Pace, Throughput } from './throughput'

export interface TopicsLook {
  topics: Topic[]
  pace: Map<string, Pace>
}

/** The topics, looked at every two seconds while they are shown; so their pace is known. */
export function useTopics() {
  const [throughput] = useState(() => new Throughput())
  return useQuery({
    queryKey: ['topics'],
    queryFn: async ({ signal }): Promise<TopicsLook> => {
      const { data } = await api.list<Topic>('/topics', { signal })
      throughput.add(data, Date.now())
      return { topics: data, pace: new Map(data.map((topic) => [topic.topic, throughput.pace(topic.topic)])) }
    },
    refetchInterval: 2_000,
    staleTime: 1_000,
    gcTime: 0,
  })
}

export function useLetters(query: LetterQuery) {
  const params = listParams(query)
  return useQuery({
    queryKey: ['letters', params],
    queryFn: ({ signal }) => api.list<Letter>('/dead-letters', { query: params, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
}

export function useLetter(place: Place) {
  return useQuery({
    queryKey: ['letter', place],
    queryFn: ({ signal }) => api.get<ShownLetter>(`/dead-letters${placePath(place)}`, { signal }),
  })
}

export const act = (action: Action, body: ActionRequest, signal: AbortSignal): Promise<Acted> =>
  api.post<Acted>(`/dead-letters/${action}`, { body, signal, reads: body.dryRun })

/** Fetches all lists of dead letters again. */
export function useLettersChanged() {
  const client = useQueryClient()
  return () => {
    void client.invalidateQueries({ queryKey: ['letters'] })
    void client.invalidateQueries({ queryKey: ['letter'] })
    void client.invalidateQueries({ queryKey: ['topics'] })
  }
}

export const REPLAYS_PER_PAGE = 25

export function useReplays(offset: number) {
  const query = { limit: REPLAYS_PER_PAGE, offset: offset || undefined }
  return useQuery({
    queryKey: ['replays', query],
    queryFn: ({ signal }) => api.list<Replay>('/replays', { query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: (look) => nextLook(look.state.data?.data),
  })
}

export function useReplay(id: string) {
  return useQuery({
    queryKey: ['replay', id],
    queryFn: ({ signal }) => api.get<Replay>(`/replays/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: (look) => (look.state.data ? nextLook([look.state.data]) : 5_000),
  })
}

export function useReplayWrites() {
  const client = useQueryClient()
  const changed = () => {
    void client.invalidateQueries({ queryKey: ['replays'] })
    void client.invalidateQueries({ queryKey: ['replay'] })
  }
  const plan = useMutation({
    mutationFn: (body: ReplayRequest) =>
      api.post<PlannedReplay>('/replays', { body: { ...body, dryRun: true }, reads: true }),
  })
  const start = useMutation({
    mutationFn: (body: ReplayRequest) => api.post<Replay>('/replays', { body }),
    onSuccess: changed,
  })
  const cancel = useMutation({
    mutationFn: (id: string) => api.del<Replay>(`/replays/${encodeURIComponent(id)}`),
    onSettled: changed,
  })
  return { plan, start, cancel }
}
