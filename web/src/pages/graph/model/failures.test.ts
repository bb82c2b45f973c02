import { describe, expect, it } from 'vitest'

import { ApiError } from '@/api'

import { blockingCommands, explainFailure, conflictText } from './failures'

const conflict = (details: Record<string, unknown>, message = 'Conflict') =>
  explainFailure(new ApiError(409, { code: 'CONFLICT', message, details, requestId: 'req_1' }))

describe('the explanation of a refused command', () => {
  it('contains the expected and the current version', () => {
    const failure = conflict({ expectedVersion: 3, actualVersion: 5 }, 'Version mismatch')
    expect(failure).toMatchObject({ title: 'Somebody else changed it', remedy: 'reload', requestId: 'req_1' })
    expect(failure.text).toContain('version 3')
    expect(failure.text).toContain('current version is 5')
  })

  it('lists each conflict of an undo, and each blocking command once', () => {
    const conflicts = [
      { kind: 'node', id: 'n1', field: 'properties.site', byCommandId: 'c1' },
      { kind: 'edge', id: '0194a5b0-0000-7000-8000-00000000000a', byCommandId: 'c1' },
    ]
    const failure = conflict({ reason: 'undo_blocked', conflicts })
    expect(failure.remedy).toBe('undo-blocker')
    expect(blockingCommands(failure.conflicts)).toEqual(['c1'])
    const texts = failure.conflicts.map((item) => conflictText(item, (id) => (id === 'n1' ? 'Pump 7' : null)))
    expect(texts).toEqual([
      'Node “Pump 7”: properties.site has changed since',
      'Edge …0000000a: created, changed or deleted since',
    ])
  })

  it.each([
    ['nothing_to_undo', 'Nothing to undo'],
    ['nothing_to_redo', 'Nothing to redo'],
    ['already_exists', 'The id is already in use'],
    ['something_new', 'Conflict with existing data'],
  ])('has a title for %s', (reason, title) => {
    expect(conflict({ reason }).title).toBe(title)
  })

  it('contains which end of an edge is missing', () => {
    const failure = explainFailure(
      new ApiError(404, { message: 'Node not found', details: { field: 'payload.targetId' } }),
    )
    expect(failure).toMatchObject({ remedy: 'pick-other', field: 'targetId' })
    expect(failure.text).toContain('ends')
  })

  it('contains the allowed values of a field', () => {
    const details = { field: 'payload.entityType', reason: 'is not known', allowed: ['concept', 'object'] }
    expect(explainFailure(new ApiError(422, { message: 'Invalid', details })).text).toBe(
      'entityType is not known. Allowed: concept, object.',
    )
  })

  it.each([0, 200, 408, 500, 502, 503, 504])(
    'does not claim that nothing changed if the outcome is unknown: %d',
    (status) => {
      const failure = explainFailure(
        new ApiError(status, { message: 'Service unavailable', details: { commandId: 'c9' } }),
      )
      expect(failure).toMatchObject({ remedy: 'retry', commandId: 'c9' })
      expect(failure.text).toContain('may have been applied')
      expect(failure.text).not.toMatch(/nothing/i)
    },
  )

  it('reports that a rate-limited command was not accepted', () =>
    expect(explainFailure(new ApiError(429, { message: 'Too many' })).text).toContain('not accepted'))

  it('shows invisible characters in a name', () => {
    const text = conflictText({ kind: 'node', id: 'n', byCommandId: 'c' }, () => 'a\u202eb')
    expect(text).toContain('[U+202E]')
  })
})
