// Names of actors.

import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'

import { api, type Key, type Operator } from '@/api'
import { useItemsById } from '@/app/itemsById'
import { useSession } from '@/app/session'
import { shortId, visible } from '@/ui'

const NEWEST = { sort: '-createdAt' }

/** Returns a function that names an actor: "you", the operator or the key; otherwise the end of the id. */
export function useActors(ids: readonly string[]): (id: string) => string {
  const me = useSession().data?.operator.id
  const operators = useQuery({
    queryKey: ['operators', 'names'],
    queryFn: ({ signal }) => api.list<Operator>('/operators', { signal }),
    staleTime: 60_000,
  })
  // The successor of a rolled key has the same actor. The newest name is used.
  const keys = useItemsById<Key>('/keys', 'actorId', ids, (key) => key.actorId, NEWEST)
  return useMemo(() => {
    const names = new Map<string, string>()
    for (const [id, key] of keys) if (key) names.set(id, `key ${visible(key.name, 60)}`)
    for (const operator of operators.data?.data ?? []) names.set(operator.id, visible(operator.name, 60))
    if (me) names.set(me, 'you')
    return (id) => names.get(id) ?? `actor ${shortId(id)}`
  }, [me, operators.data, keys])
}
