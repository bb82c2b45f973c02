import { afterEach, describe, expect, it, vi } from 'vitest'

import { bodyOf } from './body'
import { DEFAULTS, type Form } from './form'
import { create, labelErrors, mergePatch, relabel, replace } from './savedQueries'
import type { SavedQuery } from './types'

const form = (more: Partial<Form> = {}): Form => ({ ...DEFAULTS, mode: 'search', query: 'pump', ...more })

/** Applies a merge patch, as RFC 7396 describes it. */
function apply(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const base = typeof target === 'object' && target !== null && !Array.isArray(target) ? target : {}
  const result = new Map<string, unknown>(Object.entries(base))
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) result.delete(key)
    else result.set(key, apply(result.get(key), value))
  }
  return Object.fromEntries(result)
}

describe('the patch that replaces a request', () => {
  const bodies: object[] = [
    { query: 'a' },
    { query: 'b', limit: 5, properties: { site: 'north', line: [1, 2] }, rerank: {} },
    { query: 'b', properties: { site: ['north'], kW: 7 }, rerank: { weight: 1 }, tags: ['x'] },
    { query: 'b', weights: { text: 0 }, timestamp: { from: '2026' } },
    { query: 'b', weights: { vector: 0 }, timestamp: { to: '2026' } },
    bodyOf(form({ mode: 'answer', generate: true })),
  ]
  it('has the effect of the new request', () => {
    for (const before of bodies)
      for (const after of bodies) expect(apply(before, mergePatch(before, after))).toEqual(after)
  })

  it('has only the differences', () => {
    expect(mergePatch({ query: 'a', limit: 5, tags: ['x'] }, { query: 'a', tags: ['y'] })).toEqual({
      limit: null,
      tags: ['y'],
    })
  })
})

describe('requests', () => {
  afterEach(() => vi.unstubAllGlobals())

  /** Answers requests in turn and records them. */
  function serve(...answers: { status?: number; body: unknown }[]) {
    const sent: { method: string; path: string; body: unknown; key: string | null }[] = []
    vi.stubGlobal('fetch', (path: string, init: RequestInit) => {
      const { status = 200, body } = answers[sent.length] ?? { status: 500, body: {} }
      sent.push({
        method: init.method ?? '',
        path,
        body: typeof init.body === 'string' ? (JSON.parse(init.body) as unknown) : null,
        key: new Headers(init.headers).get('Idempotency-Key'),
      })
      return Promise.resolve(new Response(JSON.stringify(body), { status }))
    })
    return sent
  }

  const saved = (more: Partial<SavedQuery> = {}): SavedQuery => ({
    id: 'q1',
    name: 'noise',
    description: '',
    kind: 'search',
    request: { query: 'loud', limit: 5 },
    createdAt: '',
    updatedAt: '',
    version: 3,
    ...more,
  })

  it('create a query from the form', async () => {
    const sent = serve({ body: { data: saved() } })
    const outcome = await create('w', { name: 'noise', description: 'd' }, form({ limit: 20 }))
    expect(outcome).toEqual({ saved: saved() })
    expect(sent).toEqual([
      {
        method: 'POST',
        path: '/admin/api/rag/queries',
        body: { name: 'noise', description: 'd', kind: 'search', request: { query: 'pump', limit: 20 } },
        key: expect.stringMatching(/.+/) as string,
      },
    ])
  })

  it('return the query that has the name already, which may be on a later page', async () => {
    const refusal = { error: { details: { reason: 'already_exists', field: 'name' } } }
    const page = (data: SavedQuery[], hasMore: boolean) => ({ body: { data, meta: { hasMore } } })
    const sent = serve(
      { status: 409, body: refusal },
      page([saved({ id: 'q0', name: 'more noise' })], true),
      page([saved()], false),
    )
    expect(await create('w', { name: 'noise', description: '' }, form())).toEqual({ taken: saved() })
    expect(sent[2]?.path).toContain('offset=100')
  })

  it('report other conflicts', async () => {
    serve({ status: 409, body: { error: { details: { reason: 'still_running' } } } })
    await expect(create('w', { name: 'noise', description: '' }, form())).rejects.toMatchObject({
      status: 409,
    })
  })

  it('change the version that was read', async () => {
    const sent = serve({ body: { data: saved() } }, { body: { data: saved() } })
    await relabel('w', saved(), { name: 'new', description: 'd' })
    await replace('w', saved(), { name: 'noise', description: '' }, form({ mode: 'answer' }))
    expect(sent.map(({ method, path, body }) => [method, path, body])).toEqual([
      ['PATCH', '/admin/api/rag/queries/q1', { expectedVersion: 3, name: 'new', description: 'd' }],
      [
        'PATCH',
        '/admin/api/rag/queries/q1',
        {
          expectedVersion: 3,
          name: 'noise',
          description: '',
          kind: 'answer',
          request: { query: 'pump', limit: null },
        },
      ],
    ])
    expect(sent.every(({ key }) => key)).toBe(true)
  })
})

it('a name is required, and both texts are limited', () => {
  expect(labelErrors({ name: 'x', description: '' })).toEqual({})
  expect(labelErrors({ name: ' ', description: '' }).name).toContain('Enter')
  expect(labelErrors({ name: '😀'.repeat(256), description: 'x'.repeat(4096) })).toEqual({})
  expect(labelErrors({ name: 'x'.repeat(257), description: 'x'.repeat(4097) })).toEqual({
    name: expect.stringContaining('256') as string,
    description: expect.stringContaining('4096') as string,
  })
})
