// Requests of the page.

import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query'

import { api } from '@/api'
import { useWorkspace } from '@/app/workspace'

import type { GraphNode } from '../graph/model/types'
import { listQuery, type View } from './address'
import type { Deletion, DocumentItem, IndexStatus, NewDocument, PutResult } from './types'

const PATH = '/documents'
const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id)}`
const LIST_POLL_MS = 30_000
/** Poll intervals in milliseconds while nodes are being indexed and otherwise. */
const BUSY_POLL_MS = 2_000
const IDLE_POLL_MS = 30_000

/** The query key of everything about the documents of a workspace. */
export const documentsKey = (workspace: string) => ['documents', workspace] as const

/** Returns a page of documents. The previous page stays while the next one is loading. */
export function useDocuments(view: View) {
  const workspace = useWorkspace().id
  const query = listQuery(view, view.sort, view.offset)
  return useQuery({
    queryKey: [...documentsKey(workspace), 'list', query],
    queryFn: ({ signal }) => api.list<DocumentItem>(PATH, { workspace, query, signal }),
    placeholderData: keepPreviousData,
    refetchInterval: LIST_POLL_MS,
  })
}

/** Returns a document with its passages. */
export function useDocument(id: string) {
  const workspace = useWorkspace().id
  return useQuery({
    queryKey: [...documentsKey(workspace), 'one', id],
    queryFn: ({ signal }) => api.get<DocumentItem>(pathOf(id), { workspace, signal }),
  })
}

/** Returns the text of a document without passages, which is the description of its node. */
export function useShortText(document: DocumentItem) {
  const workspace = useWorkspace().id
  return useQuery({
    queryKey: [...documentsKey(workspace), 'text', document.id, document.version],
    queryFn: ({ signal }) =>
      api.get<GraphNode>(`/queries/nodes/${encodeURIComponent(document.id)}`, { workspace, signal }),
    enabled: document.passageCount === 0,
  })
}

/** Reports whether some nodes are not indexed or linked yet. */
export const isIndexing = (status: IndexStatus) => status.status === 'indexing' || status.links.pending > 0

/** Returns the state of the search indexes of the workspace. */
export function useIndexStatus() {
  const workspace = useWorkspace().id
  return useQuery({
    queryKey: [...documentsKey(workspace), 'index'],
    queryFn: ({ signal }) => api.get<IndexStatus>('/rag/index/status', { workspace, signal }),
    refetchInterval: ({ state }) => (state.data && isIndexing(state.data) ? BUSY_POLL_MS : IDLE_POLL_MS),
  })
}

export interface PutClient {
  /** Returns the document with an external id; undefined if there is none. */
  find: (externalId: string) => Promise<DocumentItem | undefined>
  /** Creates or changes a document. A repetition changes nothing. */
  put: (document: NewDocument) => Promise<PutResult>
}

/** Returns the requests of an upload. */
export function usePutClient(): PutClient {
  const workspace = useWorkspace().id
  return {
    find: async (externalId) => {
      const answer = await api.list<DocumentItem>(PATH, { workspace, query: { externalId } })
      return answer.data[0]
    },
    put: async (document) => {
      const body = { documents: [document] }
      const answer = await api.post<{ documents: PutResult[] }>(PATH, { workspace, body })
      const [result] = answer.documents
      if (!result) throw new Error('The response has no document')
      return result
    },
  }
}

/** Returns the deletion of a document. `onRemoved` is called before the lists are fetched again. */
export function useRemove(onRemoved: (deletion: Deletion) => void) {
  const workspace = useWorkspace().id
  const client = useQueryClient()
  return useMutation({
    mutationFn: (id: string) => api.delIdempotent<Deletion>(pathOf(id), { workspace }),
    onSuccess: (deletion, id) => {
      onRemoved(deletion)
      const key = documentsKey(workspace)
      // It may still be shown for a moment, and would not be found.
      void client.invalidateQueries({ queryKey: [...key, 'one', id], refetchType: 'none' })
      return client.invalidateQueries({ queryKey: key, predicate: ({ queryKey }) => queryKey[2] !== 'one' })
    },
  })
}

/** Returns the undo of a deletion, by the id of its command. */
export function useRestore() {
  const workspace = useWorkspace().id
  const client = useQueryClient()
  return useMutation({
    mutationFn: (commandId: string) =>
      api.postIdempotent('/commands/execute', { workspace, body: { type: 'UNDO', payload: { commandId } } }),
    onSuccess: () => client.invalidateQueries({ queryKey: documentsKey(workspace) }),
  })
}
