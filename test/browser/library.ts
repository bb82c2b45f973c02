// What the tests of searches of documents and of saved queries share.

import { call, expect, type Tenant } from './support.ts'
import { withTenant } from './tenant.ts'

/** Each test has a workspace with three documents and two machines, which can be found. */
export const test = withTenant((title) => `Library ${title}`, fill)

export const QUESTION = 'how often is the bearing of the pump lubricated?'

/** An address that is not one of the web. The server refuses those that a browser would run. */
export const FILE_ADDRESS = 'ftp://files.example.com/note.txt'

const CLEANING = Array.from(
  { length: 40 },
  (_, i) =>
    `Step ${i}: the housing is cleaned with water and a soft brush, and screws are tightened with ${i + 10} Nm.`,
).join(' ')

const DOCUMENTS = [
  {
    externalId: 'manual',
    title: 'Manual of pumps',
    tags: ['manual', 'north'],
    timestamp: '2026-11-03T10:00:00Z',
    sourceUrl: 'https://docs.example.com/pumps?page=1',
    // Longer than a passage.
    text: `The bearing of the pump is lubricated once every 500 hours. Use a grease of class 2. ${CLEANING}`,
  },
  {
    externalId: 'handbook',
    title: 'Handbook of the boiler house',
    tags: ['handbook', 'north'],
    timestamp: '2026-02-11T10:00:00Z',
    text: 'A boiler is inspected every year. Ana Ruiz lubricates the bearing of the pump when it is loud.',
  },
  {
    externalId: 'note',
    title: 'Note about noise',
    tags: ['note'],
    timestamp: '2025-06-01T10:00:00Z',
    sourceUrl: FILE_ADDRESS,
    text: 'The bearing of the pump was last lubricated 900 hours ago.',
  },
]

const MACHINES = [
  ['Pump 7', { kW: 11, line: 'A-7' }],
  ['Pump 8', { kW: 400, line: 'B-8' }],
] as const

async function fill(of: Tenant): Promise<void> {
  await call(of, 'POST', '/api/documents', { documents: DOCUMENTS })
  await call(of, 'POST', '/api/commands/batch', {
    commands: MACHINES.map(([name, properties]) => ({
      type: 'CREATE_NODE',
      payload: { name, entityType: 'object', description: 'Moves water.', properties },
    })),
  })
  // A node is found by meaning about a second after it is written.
  const missing = async () => {
    const query = { query: QUESTION, limit: 100, groupBy: 'document' }
    const hits = await call<{ node: { name: string }; scores: { vector: number | null } }[]>(
      of,
      'POST',
      '/api/rag/search',
      query,
    )
    return hits.filter((hit) => hit.scores.vector !== null).length < DOCUMENTS.length + MACHINES.length
  }
  await expect.poll(missing, { message: 'nodes that are not found' }).toBe(false)
}

export interface SavedQuery {
  id: string
  name: string
  description: string
  kind: string
  request: Record<string, unknown>
  version: number
}

/** Returns the saved queries by name. */
export const savedQueries = (of: Tenant): Promise<SavedQuery[]> =>
  call<SavedQuery[]>(of, 'GET', '/api/rag/queries?sort=name')

/** Saves a query. */
export const save = (of: Tenant, name: string, request: Record<string, unknown>): Promise<SavedQuery> =>
  call<SavedQuery>(of, 'POST', '/api/rag/queries', { name, kind: 'search', request })
