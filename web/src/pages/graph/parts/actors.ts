// Whose command it was, by a name.

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'

import { api, type Key, type Operator } from '@/api'
import { useSession } from '@/app/session'
import { shortId, visible } from '@/ui'

/** Gives an actor's name: "you", an operator's, a key's; where none is known the end of the id. */
export function useActors(workspace: string): (id: string) => string {
  const me = useSession().data?.operator.id
  const operators = useQuery({
    queryKey: ['operators', 'names'],
    queryFn: ({ signal }) => api.list<Operator>('/operators', { signal }),
    staleTime: 60_000,
  })
  const keys = useQuery({
    queryKey: ['keys', 'names', workspace],
    queryFn: ({ signal }) =>
      api.list<Key>('/keys', { query: { workspaceId: workspace, sort: '-createdAt' }, signal }),
    staleTime: 60_000,
  })
  return useMemo(() => {
    const names = new Map<string, string>()
    for (const key of keys.data?.data ?? []) names.set(key.actorId, `key ${visible(key.name, 60)}`)
    for (const operator of operators.data?.data ?? []) names.set(operator.id, visible(operator.name, 60))
    if (me) names.set(me, 'you')
    return (id) => names.get(id) ?? `actor ${shortId(id)}`
  }, [me, operators.data, keys.data])
}
