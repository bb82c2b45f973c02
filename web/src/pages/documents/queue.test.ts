import { describe, expect, it } from 'vitest'

import { ApiError } from '@/api'

import { fileProblem, kindOf, labelOf, pageWord } from './kinds'
import {
  countsOf,
  countsText,
  documentOf,
  isSendable,
  problemsOf,
  readable,
  reasonOf,
  uploadOf,
  UnreadableError,
  type State,
  type Upload,
} from './queue'
import { decode } from './read'
import type { PutResult } from './types'

const MIB = 1 << 20

/** Returns a file as a browser has it, without its content. */
const file = (name: string, path = '', size = 3): File =>
  ({ name, size, webkitRelativePath: path, lastModified: 0 }) as File

const upload = (name: string, change: Partial<Upload> = {}): Upload => ({
  ...uploadOf(1, file(name)),
  ...change,
})

describe('a file', () => {
  it('has the type of its extension', () => {
    expect(kindOf('a.MD')?.media).toBe('text/markdown')
    expect(kindOf('archive.tar.docx')?.label).toBe('Word')
    expect(kindOf('README')).toBeNull()
    expect(labelOf('application/pdf')).toBe('PDF')
    expect(labelOf('image/png')).toBe('image/png')
    expect(pageWord('application/vnd.oasis.opendocument.spreadsheet')).toBe('Sheet')
    expect(pageWord('image/png')).toBe('Page')
  })

  it.each([
    ['a.txt', 4 * MIB, null],
    ['a.txt', 4 * MIB + 1, /larger than 4 MiB/],
    ['a.pdf', 16 * MIB, null],
    ['a.pdf', 16 * MIB + 1, /larger than 16 MiB/],
    ['a.pdf', 0, /is empty/],
    ['a.png', 5, /not read/],
    ['old.DOC', 5, /Save the file as \.docx/],
    ['old.xls', 5, /Save the file as \.xlsx/],
  ])('%s of %d bytes is checked before it is sent', (name, size, problem) => {
    if (problem) expect(fileProblem(name, size)).toMatch(problem)
    else expect(fileProblem(name, size)).toBeNull()
  })

  it('has the id and title that the import by the command line gives it', () => {
    expect(uploadOf(1, file('a.b.txt'))).toMatchObject({ externalId: 'a.b.txt', title: 'a.b' })
    expect(uploadOf(1, file('a.md'))).toMatchObject({ externalId: 'a.md', title: '' })
    expect(uploadOf(1, file('a.md', 'wiki/sub/a.md')).externalId).toBe('sub/a.md')
  })

  it('of a folder is left out if it is hidden or of another type', () => {
    const files = [
      file('a.md', 'w/a.md'),
      file('b.png', 'w/b.png'),
      file('c.md', 'w/.git/c.md'),
      file('.d.md', 'w/.d.md'),
    ]
    expect(readable(files).map((item) => item.name)).toEqual(['a.md'])
  })

  it('is decoded as UTF-8, with its byte order mark, or refused', () => {
    const bytes = (...list: number[]) => new Uint8Array(list).buffer
    expect(decode(bytes(0xef, 0xbb, 0xbf, 0x61))).toBe('\ufeffa')
    expect(() => decode(bytes(0xff, 0xfe))).toThrow(UnreadableError)
    expect(() => decode(bytes(0x61, 0))).toThrow(/zero bytes/)
  })
})

describe('an upload', () => {
  it('is sent when nothing is to be corrected', () => {
    const other = { ...upload('b.md'), key: 2 }
    expect(problemsOf(upload('a.md'), [other])).toEqual({})
    expect(isSendable(upload('a.md'), [other])).toBe(true)
    for (const [change, field] of [
      [{ externalId: '' }, 'externalId'],
      [{ externalId: 'x'.repeat(513) }, 'externalId'],
      [{ externalId: 'a\tb' }, 'externalId'],
      [{ externalId: 'b.md' }, 'externalId'],
      [{ title: 'x'.repeat(513) }, 'title'],
      [{ file: file('a.png') }, 'file'],
    ] as const) {
      const wrong = upload('a.md', change)
      expect(Object.keys(problemsOf(wrong, [wrong, other]))).toEqual([field])
      expect(isSendable(wrong, [wrong, other])).toBe(false)
    }
    expect(problemsOf(upload('a.md', { externalId: '😀'.repeat(512) }), [])).toEqual({})
  })

  it('is sent again after it failed, and not after it is done', () => {
    const at = (state: State) => isSendable(upload('a.md', { state }), [])
    expect(at({ at: 'failed', reason: '' })).toBe(true)
    expect(at({ at: 'waiting' })).toBe(false)
    expect(at({ at: 'done', result: {} as PutResult })).toBe(false)
  })

  it('becomes a document with what is set', () => {
    const none = { tags: [], fileTimes: false }
    expect(documentOf(upload('a.md', { title: ' ' }), { text: 'x' }, none)).toEqual({
      externalId: 'a.md',
      contentType: 'text/markdown',
      text: 'x',
    })
    expect(
      documentOf(upload('a.pdf', { title: 'A' }), { data: 'eA==' }, { tags: ['t'], fileTimes: true }),
    ).toEqual({
      externalId: 'a.pdf',
      contentType: 'application/pdf',
      data: 'eA==',
      title: 'A',
      tags: ['t'],
      timestamp: '1970-01-01T00:00:00.000Z',
    })
  })

  it('keeps what is not set of an existing document', () => {
    const existing = {
      tags: ['b'],
      timestamp: '2026-11-21T07:40:08Z',
      sourceUrl: 'https://wiki.example.com/a',
    }
    const send = (tags: string[], fileTimes: boolean) =>
      documentOf(upload('a.md'), { text: 'x' }, { tags, fileTimes }, existing)
    expect(send([], false)).toMatchObject(existing)
    expect(send(['t'], true)).toMatchObject({
      tags: ['t'],
      timestamp: '1970-01-01T00:00:00.000Z',
      sourceUrl: existing.sourceUrl,
    })
    const bare = { tags: [], timestamp: null, sourceUrl: null }
    const document = documentOf(upload('a.md'), { text: 'x' }, { tags: [], fileTimes: false }, bare)
    expect(Object.keys(document).sort()).toEqual(['contentType', 'externalId', 'text'])
  })

  it('is counted by its result', () => {
    const done = (status: PutResult['status']) =>
      upload('a.md', { state: { at: 'done', result: { status } as PutResult } })
    const list = [
      done('created'),
      done('unchanged'),
      done('created'),
      upload('a'),
      upload('a', { state: { at: 'sending' } }),
    ]
    expect(countsOf(list)).toEqual({ created: 2, updated: 0, unchanged: 1, failed: 0, left: 1 })
    expect(countsText(list)).toBe('2 created, 1 unchanged')
    expect(countsText([])).toBe('')
  })
})

describe('the reason of a failure', () => {
  const refused = (field: string, reason: string) =>
    new ApiError(422, { message: 'Invalid request', details: { field, reason } })

  it.each<[Error, string]>([
    [refused('documents[0].data', 'is protected by a password'), 'The file is protected by a password.'],
    [refused('documents[0].text', 'has 9 bytes'), 'The text has 9 bytes.'],
    [refused('documents[0].tags[3]', 'must be shorter'), 'The tags must be shorter.'],
    [refused('documents[0]', 'has too many passages'), 'The document has too many passages.'],
    [new UnreadableError('Save it in UTF-8.'), 'Save it in UTF-8.'],
  ])('is a sentence about the file', (error, text) => expect(reasonOf(error)).toBe(text))

  it('says what to do about other errors', () => {
    expect(reasonOf(new ApiError(503, { message: 'The server is busy', retryAfter: 2 }))).toBe(
      'The server is busy. Try again in 2 s.',
    )
    expect(reasonOf(refused('documents', 'must be few'))).toContain('documents: must be few')
    const moved = Object.assign(new Error('x'), { name: 'NotReadableError' })
    expect(reasonOf(moved)).toMatch(/changed, moved or deleted/)
  })
})
