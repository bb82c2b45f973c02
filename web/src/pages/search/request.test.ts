import { afterEach, expect, it, vi } from 'vitest'

import { ask } from './request'

afterEach(() => vi.unstubAllGlobals())

/** Answers requests by their path. A missing answer is an error of the server. */
function serve(answers: Record<string, unknown>): string[] {
  const sent: string[] = []
  vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
    sent.push(`${init.method ?? ''} ${path}`)
    const [name = ''] = path.replace('/admin/api', '').split('?')
    const status = name in answers ? 200 : 500
    return Promise.resolve(new Response(JSON.stringify(answers[name] ?? {}), { status }))
  })
  return sent
}

const meta = { total: 1 }
const answer = { data: { answer: 'A. [1]', sentences: [], citations: [{ nodeId: 'n1' }] }, meta }

it('an answer has the descriptions of the cited nodes', async () => {
  const sent = serve({
    '/rag/answer': answer,
    '/queries/nodes': { data: [{ id: 'n1', description: 'A. B.' }], meta },
  })
  const responded = await ask('answer', { workspace: 'w', body: {} })
  expect(responded).toMatchObject({
    mode: 'answer',
    data: answer.data,
    descriptions: new Map([['n1', 'A. B.']]),
  })
  expect(sent).toEqual(['POST /admin/api/rag/answer', 'GET /admin/api/queries/nodes?ids=n1&limit=100'])
})

it('an answer without the descriptions is an answer', async () => {
  serve({ '/rag/answer': answer })
  expect(await ask('answer', { workspace: 'w', body: {} })).toMatchObject({ descriptions: new Map() })
})

it('a search is one request', async () => {
  const sent = serve({ '/rag/hybrid-search': { data: [], meta } })
  expect(await ask('hybrid', { workspace: 'w', body: {} })).toMatchObject({ mode: 'hybrid', data: [], meta })
  expect(sent).toEqual(['POST /admin/api/rag/hybrid-search'])
})
