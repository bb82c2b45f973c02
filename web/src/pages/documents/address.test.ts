import { describe, expect, it } from 'vitest'

import { changeFilter, listQuery, NO_FILTER, readView, tagsOf, writeView } from './address'

const view = (text: string) => readView(new URLSearchParams(text))

describe('the URL of the page', () => {
  it.each([
    '',
    'externalId=a%2Fb.md',
    'tag=x&tag=y&offset=50',
    'allTag=x&id=0194a5b0',
    'sort=newest',
    'tag=x&sort=timestamp&offset=50',
    'match=all&upload=1',
    'from=2026-01-01T00%3A00%3A00.000Z&to=2026-02-01T00%3A00%3A00.000Z',
  ])('%j is read and written again', (text) => expect(writeView(view(text)).toString()).toBe(text))

  it('is read without values that are not valid', () => {
    const { tags, from, offset, uploading } = view(
      `tag=&tag=${'x'.repeat(129)}&tag=ok&from=soon&offset=-1&upload=yes`,
    )
    expect({ tags, from, offset, uploading }).toEqual({ tags: ['ok'], from: '', offset: 0, uploading: false })
    expect(view('offset=1.5').offset).toBe(0)
    expect([view('sort=created').sort, view('sort=size').sort]).toEqual(['created', 'created'])
  })

  it('has each tag once, and at most 64', () => {
    expect(tagsOf(['a', 'b', 'a'])).toEqual(['a', 'b'])
    expect(tagsOf(Array.from({ length: 70 }, (_, i) => `t${i}`))).toHaveLength(64)
    expect(tagsOf(['😀'.repeat(128)])).toHaveLength(1)
  })
})

describe('the filter', () => {
  const tagged = { ...NO_FILTER, tags: ['a'], match: 'all', from: '2026-01-01T00:00:00.000Z' } as const

  it('has an external id or other conditions', () => {
    const byId = changeFilter(tagged, { externalId: 'x' })
    expect(byId).toEqual({ ...NO_FILTER, match: 'all', externalId: 'x' })
    expect(changeFilter(byId, { tags: ['b'] })).toEqual({ ...NO_FILTER, match: 'all', tags: ['b'] })
    expect(changeFilter(byId, { match: 'any' }).externalId).toBe('x')
    expect(changeFilter(byId, { tags: [] }).externalId).toBe('x')
    expect(changeFilter(tagged, { externalId: '' })).toEqual(tagged)
    expect(changeFilter(tagged, NO_FILTER)).toEqual(NO_FILTER)
  })

  it('becomes the parameters of the API', () => {
    expect(listQuery({ ...NO_FILTER, externalId: 'x' }, 'created', 0)).toEqual({
      limit: 50,
      offset: null,
      sort: null,
      externalId: 'x',
    })
    expect(listQuery(tagged, 'newest', 50)).toMatchObject({
      offset: 50,
      sort: 'newest',
      allTag: ['a'],
      timestampFrom: tagged.from,
    })
    const any = listQuery({ ...tagged, match: 'any' }, 'timestamp', 0)
    expect(any).toMatchObject({ tag: ['a'] })
    expect(any).not.toHaveProperty('allTag')
    expect(any).not.toHaveProperty('externalId')
  })
})
