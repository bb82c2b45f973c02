import { describe, expect, it } from 'vitest'
import { type Draft, draftOf, emptyDraft, fieldOf, newSource, patchOf, problemsOf } from './draft'
import type { Source } from './shapes'

const source: Source = {
  id: '6f3b2c1e-8d7a-4f50-9b1c-0a2d4e6f8a90',
  name: 'boiler',
  description: '',
  nodeId: null,
  unit: '°C',
  metrics: [{ name: 'temperature', unit: null, description: null }],
  tags: { room: 'cellar', floor: '0' },
  retentionDays: 30,
  intervalSeconds: 1,
  createdAt: '2026-11-21T07:40:08Z',
  updatedAt: '2026-11-21T07:40:08Z',
  version: 4,
  lastSeenAt: null,
  status: 'never',
}

const draft = (change: Partial<Draft>): Draft => ({ ...draftOf(source), ...change })

describe('a new source', () => {
  it('contains only the filled-in fields', () => {
    expect(newSource({ ...emptyDraft(), name: 'boiler' })).toEqual({ name: 'boiler' })
    expect(newSource(draftOf(source))).toEqual({
      name: 'boiler',
      unit: '°C',
      tags: { room: 'cellar', floor: '0' },
      metrics: [{ name: 'temperature' }],
      retentionDays: 30,
      intervalSeconds: 1,
    })
  })

  it('keeps a tag with a hostile name', () => {
    const body = newSource({ ...emptyDraft(), name: 'x', tags: [{ key: '__proto__', value: 'y' }] })
    expect(JSON.stringify(body)).toBe('{"name":"x","tags":{"__proto__":"y"}}')
  })
})

describe('a change of a source', () => {
  it('is not sent if nothing changed', () => {
    expect(patchOf(source, draftOf(source))).toBeNull()
  })

  it('contains only the changed fields and the expected version', () => {
    expect(patchOf(source, draft({ name: 'boiler 2', unit: '', retentionDays: '' }))).toEqual({
      expectedVersion: 4,
      name: 'boiler 2',
      unit: null,
      retentionDays: null,
    })
  })

  it('removes deleted tags and sends new and changed ones', () => {
    const tags = [
      { key: 'room', value: 'attic' },
      { key: 'side', value: 'north' },
    ]
    expect(patchOf(source, draft({ tags }))?.tags).toEqual({ floor: null, room: 'attic', side: 'north' })
  })

  it('replaces the whole list of metrics', () => {
    const metrics = [
      { name: 'temperature', unit: '°C', description: '' },
      { name: 'pressure', unit: '', description: '' },
      { name: '', unit: '', description: '' },
    ]
    expect(patchOf(source, draft({ metrics }))?.metrics).toEqual([
      { name: 'temperature', unit: '°C' },
      { name: 'pressure' },
    ])
  })
})

describe('the validation of a draft', () => {
  it('reports the invalid field', () => {
    expect(problemsOf(draftOf(source))).toEqual({})
    const bad: [keyof Draft, Partial<Draft>][] = [
      ['name', { name: '' }],
      ['name', { name: 'x'.repeat(257) }],
      ['unit', { unit: 'x'.repeat(65) }],
      ['nodeId', { nodeId: 'pump' }],
      ['retentionDays', { retentionDays: '0' }],
      ['retentionDays', { retentionDays: '1.5' }],
      ['retentionDays', { retentionDays: 'x' }],
      ['intervalSeconds', { intervalSeconds: '0' }],
      ['intervalSeconds', { intervalSeconds: 'x' }],
      ['tags', { tags: [{ key: '', value: 'x' }] }],
      [
        'tags',
        {
          tags: [
            { key: 'a', value: '' },
            { key: 'a', value: '' },
          ],
        },
      ],
      ['metrics', { metrics: [{ name: '', unit: '°C', description: '' }] }],
    ]
    for (const [field, change] of bad) expect(Object.keys(problemsOf(draft(change))), field).toEqual([field])
    expect(problemsOf(draft({ name: '日'.repeat(256) }))).toEqual({})
  })
})

describe('a server error', () => {
  it('is assigned to its field', () => {
    expect(fieldOf('metrics[2].name')).toBe('metrics')
    expect(fieldOf('tags.room')).toBe('tags')
    expect(fieldOf('expectedVersion')).toBeUndefined()
    expect(fieldOf(undefined)).toBeUndefined()
  })
})
