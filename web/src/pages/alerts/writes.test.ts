import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'

import { readAlertmanagers, saveAlertmanagers, saveFile } from './writes'

let sent: string[] = []
let bodies: unknown[] = []
let answers: Record<string, unknown> = {}

beforeEach(() => {
  sent = []
  bodies = []
  answers = {}
  vi.stubGlobal('fetch', (address: string, init: RequestInit) => {
    const request = `${init.method} ${address.replace(/^\/admin\/api/, '')}`
    sent.push(request)
    bodies.push(init.body)
    return Promise.resolve(new Response(JSON.stringify({ data: answers[request] ?? null })))
  })
})
afterEach(() => vi.unstubAllGlobals())

const LIST = 'GET /rules?limit=100'
const file = (version: number) => ({ name: 'machines', version })

describe('a file', () => {
  it('is created if there is none of the name', async () => {
    answers = { [LIST]: [{ name: 'others', version: 1 }] }
    expect(await saveFile('w', 'machines', 'groups: []', null)).toEqual({ saved: true })
    expect(sent).toEqual([LIST, 'PUT /rules/machines'])
    expect(bodies[1]).toBe('groups: []')
  })

  it('is replaced if its version is that of the edited one', async () => {
    answers = { [LIST]: [file(7)] }
    expect(await saveFile('w', 'machines', 'x', { version: 7 })).toEqual({ saved: true })
    expect(sent).toEqual([LIST, 'PUT /rules/machines'])
  })

  it.each([
    ['was created', [file(7)], null],
    ['was changed', [file(8)], { version: 7 }],
  ])('is not written if it %s meanwhile', async (_, list, base) => {
    const theirs = { ...file(8), content: 'theirs' }
    answers = { [LIST]: list, 'GET /rules/machines': theirs }
    expect(await saveFile('w', 'machines', 'x', base)).toEqual({ saved: false, theirs })
    expect(sent).toEqual([LIST, 'GET /rules/machines'])
  })

  it('is not written if it was deleted meanwhile', async () => {
    answers = { [LIST]: [] }
    expect(await saveFile('w', 'machines', 'x', { version: 7 })).toEqual({ saved: false, theirs: null })
    expect(sent).toEqual([LIST])
  })
})

describe('the list of Alertmanagers', () => {
  const GET = 'GET /alertmanagers'

  it('is read', async () => {
    answers = { [GET]: { urls: ['https://a'] } }
    expect(await readAlertmanagers('w')).toEqual(['https://a'])
  })

  it('is replaced if it is that of the edited one', async () => {
    answers = { [GET]: { urls: ['https://a'] } }
    expect(await saveAlertmanagers('w', ['https://b'], ['https://a'])).toEqual({ saved: true })
    expect(bodies[1]).toBe('{"urls":["https://b"]}')
  })

  it('is not replaced if it was changed meanwhile', async () => {
    answers = { [GET]: { urls: ['https://a', 'https://c'] } }
    expect(await saveAlertmanagers('w', ['https://b'], ['https://a'])).toEqual({
      saved: false,
      theirs: ['https://a', 'https://c'],
    })
    expect(sent).toEqual([GET])
  })
})
