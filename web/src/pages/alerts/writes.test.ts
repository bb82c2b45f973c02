import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import {
  draftOf,
  EMPTY,
  readAlertmanagers,
  readFile,
  saveAlertmanagers,
  saveFile,
  type Alertmanager,
} from './writes'

let sent: string[] = []
let bodies: unknown[] = []
let tags: (string | null)[] = []
let absent: (string | null)[] = []
let answers: Record<string, unknown> = {}

const CONFLICT = { status: 409, error: { code: 'CONFLICT', details: { field: 'If-Match' } } }
const EXISTS = { status: 409, error: { code: 'CONFLICT', details: { field: 'If-None-Match' } } }
const GONE = { status: 404, error: { code: 'NOT_FOUND' } }

beforeEach(() => {
  sent = []
  bodies = []
  tags = []
  absent = []
  answers = {}
  vi.stubGlobal('fetch', (address: string, init: RequestInit) => {
    const request = `${init.method} ${address.replace(/^\/admin\/api/, '')}`
    sent.push(request)
    bodies.push(init.body)
    tags.push(new Headers(init.headers).get('If-Match'))
    absent.push(new Headers(init.headers).get('If-None-Match'))
    const answer = answers[request]
    const refused = [CONFLICT, EXISTS, GONE].find((refusal) => refusal === answer)
    return Promise.resolve(
      new Response(JSON.stringify(refused ? { error: refused.error } : { data: answer ?? null }), {
        status: refused?.status ?? 200,
        headers: { ETag: 'W/"stored"' },
      }),
    )
  })
})
afterEach(() => vi.unstubAllGlobals())

const GET_FILE = 'GET /rules/machines'
const PUT_FILE = 'PUT /rules/machines'
const base = { etag: 'W/"base"' }

describe('a file', () => {
  it('is read with its entity tag', async () => {
    answers = { [GET_FILE]: { name: 'machines', content: 'x' } }
    expect(await readFile('w', 'machines')).toEqual({ name: 'machines', content: 'x', etag: 'W/"stored"' })
  })

  it('is not read without an entity tag', async () => {
    vi.stubGlobal('fetch', () => Promise.resolve(new Response('{"data":{}}')))
    await expect(readFile('w', 'machines')).rejects.toThrow('no entity tag')
  })

  it('is created if there is none of the name', async () => {
    expect(await saveFile('w', 'machines', 'groups: []', null)).toEqual({ saved: true })
    expect(sent).toEqual([PUT_FILE])
    expect(bodies).toEqual(['groups: []'])
    expect([tags, absent]).toEqual([[null], ['*']])
  })

  it('is not created if there is one of the name', async () => {
    answers = { [PUT_FILE]: EXISTS, [GET_FILE]: { content: 'theirs' } }
    expect(await saveFile('w', 'machines', 'x', null)).toMatchObject({
      saved: false,
      theirs: { content: 'theirs' },
    })
    expect(sent).toEqual([PUT_FILE, GET_FILE])
  })

  it('is replaced if its state is that of the edited one', async () => {
    expect(await saveFile('w', 'machines', 'x', base)).toEqual({ saved: true })
    expect(sent).toEqual([PUT_FILE])
    expect([tags, absent]).toEqual([['W/"base"'], [null]])
  })

  it.each([
    ['was changed', { content: 'theirs' }, { content: 'theirs', etag: 'W/"stored"' }],
    ['was deleted', GONE, null],
  ])('is not written if it %s meanwhile', async (_, answer, theirs) => {
    answers = { [PUT_FILE]: CONFLICT, [GET_FILE]: answer }
    expect(await saveFile('w', 'machines', 'x', base)).toEqual({ saved: false, theirs })
    expect(sent).toEqual([PUT_FILE, GET_FILE])
  })

  it('is saved if a request whose response was lost has written the text', async () => {
    answers = { [PUT_FILE]: CONFLICT, [GET_FILE]: { content: 'x' } }
    expect(await saveFile('w', 'machines', 'x', base)).toEqual({ saved: true })
  })

  it('is not saved after another conflict, such as of the number of files', async () => {
    vi.stubGlobal('fetch', () =>
      Promise.resolve(new Response('{"error":{"message":"Too many files"}}', { status: 409 })),
    )
    await expect(saveFile('w', 'machines', 'x', base)).rejects.toThrow('Too many files')
  })
})

describe('the list of Alertmanagers', () => {
  const GET = 'GET /alertmanagers'
  const PUT = 'PUT /alertmanagers'
  const nothing = { lastSentAt: null, lastFailedAt: null, lastError: null }
  const A = {
    url: 'https://a',
    authorization: null,
    headers: [],
    updatedAt: '2026-01-01T00:00:00Z',
    ...nothing,
  }
  const B: Alertmanager = {
    url: 'https://b',
    authorization: { type: 'basic', username: 'ops' },
    headers: [{ name: 'X-Tenant' }],
    updatedAt: '2026-01-01T00:00:00Z',
    ...nothing,
  }

  it('is read', async () => {
    answers = { [GET]: { urls: ['https://a'], alertmanagers: [A] } }
    expect(await readAlertmanagers('w')).toEqual({ alertmanagers: [A], etag: 'W/"stored"' })
  })

  it('is replaced if it is that of the edited one', async () => {
    const drafts = [
      draftOf(B),
      { ...EMPTY, url: 'https://c', type: 'bearer', secret: 't' } as const,
      { ...draftOf(B), url: 'https://d', secret: 'p', headers: [{ name: 'X-Key', value: 'v' }] },
    ]
    expect(await saveAlertmanagers('w', drafts, base)).toEqual({ saved: true })
    expect(JSON.parse(bodies[0] as string)).toEqual({
      alertmanagers: [
        {
          url: 'https://b',
          authorization: { type: 'basic', username: 'ops' },
          headers: [{ name: 'X-Tenant' }],
        },
        { url: 'https://c', authorization: { type: 'bearer', token: 't' }, headers: [] },
        {
          url: 'https://d',
          authorization: { type: 'basic', username: 'ops', password: 'p' },
          headers: [{ name: 'X-Key', value: 'v' }],
        },
      ],
    })
    expect(tags).toEqual(['W/"base"'])
  })

  it('is not replaced if it was changed meanwhile', async () => {
    answers = { [PUT]: CONFLICT, [GET]: { alertmanagers: [A] } }
    expect(await saveAlertmanagers('w', [draftOf(B)], base)).toEqual({
      saved: false,
      theirs: { alertmanagers: [A], etag: 'W/"stored"' },
    })
    expect(sent).toEqual([PUT, GET])
  })

  it('is saved if a request whose response was lost has written it', async () => {
    answers = { [PUT]: CONFLICT, [GET]: { alertmanagers: [A, B] } }
    expect(await saveAlertmanagers('w', [draftOf(B), draftOf(A)], base)).toEqual({ saved: true })
  })

  it('is not known to be saved if a secret was sent', async () => {
    answers = { [PUT]: CONFLICT, [GET]: { alertmanagers: [B] } }
    expect(await saveAlertmanagers('w', [{ ...draftOf(B), secret: 'p' }], base)).toMatchObject({
      saved: false,
    })
  })
})
