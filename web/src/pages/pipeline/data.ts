// Requests of the pipeline page.
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'

import { api } from '@/api'

import { type DeadLetterQuery, listParams, refPath } from './deadLetterActions'
import { refetchInterval } from './replays'
import type {
  ActionResult,
  Action,
  ActionRequest,
  DeadLetter,
  RecordRef,
  PlannedReplay,
  Replay,
  ReplayRequest,
  DeadLetterDetail,
  Topic,
} from './shapes'
import { type Rates, Throughput } from './throughput'

export interface TopicsSample {
  topics: Topic[]
  rates: Map<string, Rates>
}

/** Polls the topics every two seconds and computes their rates. */
export function useTopics() {
  const [throughput] = useState(() => new Throughput())
  return useQuery({
    queryKey: ['topics'],
    queryFn: async ({ signal }): Promise<TopicsSample> => {
      const { data } = await api.list<Topic>('/topics', { signal })
      throughput.add(data, Date.now())
      return {
        topics: data,
        rates: new Map(data.map((topic) => [topic.topic, throughput.rates(topic.topic)])),
      }
    },
    refetchInterval: 2_000,
    staleTime: 1_000,
    gcTime: 0,
  })
}

export function useDeadLetters(query: DeadLetterQuery) {
  const params = listParams(query)
  return useQuery({
    queryKey: ['letters', params],
    queryFn: ({ signal }) => api.list<DeadLetter>('/dead-letters', { query: params, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: 15_000,
  })
}

export function useDeadLetter(recordRef: RecordRef) {
  return useQuery({
    queryKey: ['letter', recordRef],
    queryFn: ({ signal }) => api.get<DeadLetterDetail>(`/dead-letters${refPath(recordRef)}`, { signal }),
  })
}

export const act = (action: Action, body: ActionRequest, signal: AbortSignal): Promise<ActionResult> =>
  api.post<ActionResult>(`/dead-letters/${action}`, { body, signal, readOnly: body.dryRun })

/** Returns a function that fetches all lists of dead letters again. */
export function useRefetchDeadLetters() {
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
    refetchInterval: (query) => refetchInterval(query.state.data?.data),
  })
}

export function useReplay(id: string) {
  return useQuery({
    queryKey: ['replay', id],
    queryFn: ({ signal }) => api.get<Replay>(`/replays/${encodeURIComponent(id)}`, { signal }),
    refetchInterval: (query) => (query.state.data ? refetchInterval([query.state.data]) : 5_000),
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
      api.post<PlannedReplay>('/replays', { body: { ...body, dryRun: true }, readOnly: true }),
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
