import { describe, expect, it } from 'vitest'

import { formOf, paramsOf } from './address'
import { bodyOf, formOfSaved, kindOf, pathOf } from './body'
import { curlOf } from './curl'
import { checkForm, DEFAULTS, filterCount, type Form } from './form'

const form = (more: Partial<Form> = {}): Form => ({ ...DEFAULTS, query: 'pump', ...more })
const A = '0194a5b0-0000-7000-8000-00000000000a'

/** A form in which every field differs from its default. */
const FULL: Form = {
  mode: 'search',
  query: 'pump',
  limit: 20,
  entityTypes: ['object', 'actor'],
  minScore: 0.25,
  properties: 'site = north\nkW >= 5\nkW <= 9.5\nline ^= A-',
  documents: [A],
  tags: ['manual', 'a,b'],
  allTags: ['north'],
  from: '2026-01',
  to: '2026-11-21T07:40:08Z',
  includeContent: true,
  byDocument: true,
  facets: ['tags', 'timestamp'],
  facetLimit: 20,
  facetInterval: 'month',
  rerank: true,
  candidates: 30,
  rerankWeight: 1,
  hops: 0,
  direction: 'in',
  relationTypes: ['part of', 'a,b'],
  nodeIds: [A],
  weights: { text: 0, vector: 0.5, graph: 1 },
  explain: false,
  includeEdges: true,
  includeLiveData: true,
  generate: true,
  maxSentences: 5,
}

const FILTERS = {
  entityTypes: ['object', 'actor'],
  minScore: 0.25,
  properties: { site: 'north' },
  propertyMin: { kW: 5 },
  propertyMax: { kW: 9.5 },
  propertyPrefix: { line: 'A-' },
  documents: [A],
  tags: ['manual', 'a,b'],
  allTags: ['north'],
  timestamp: { from: '2026-01-01T00:00:00Z', to: '2026-11-21T07:40:08Z' },
  rerank: { candidates: 30, weight: 1 },
}

const PAGE = {
  includeContent: true,
  groupBy: 'document',
  facets: ['tags', 'timestamp'],
  facetLimit: 20,
  facetInterval: 'month',
}

const GRAPH = {
  hops: 0,
  relationTypes: ['part of', 'a,b'],
  direction: 'in',
  nodeIds: [A],
  weights: { text: 0, vector: 0.5 },
  includeLiveData: true,
}

describe('the form in the URL', () => {
  it.each(['search', 'answer'] as const)('is unchanged after a round trip: %s', (mode) => {
    const full = { ...FULL, mode }
    for (const [name, value] of Object.entries(DEFAULTS))
      expect(full[name as keyof Form], name).not.toEqual(value)
    expect(formOf(new URLSearchParams(paramsOf(full).toString()))).toEqual(full)
  })

  it('omits default values and keeps other parameters', () => {
    expect(paramsOf(form({ query: '' }), new URLSearchParams('workspace=w&q=old&tag=x')).toString()).toBe(
      'workspace=w',
    )
  })

  it('replaces invalid values', () => {
    const read = formOf(
      new URLSearchParams(
        'hops=99&limit=x&text=-1&mode=y&type=z&direction=up&facet=size&facetInterval=week&candidates=0' +
          '&maxSentences=99&rerankWeight=2&minScore=',
      ),
    )
    expect(read).toEqual({
      ...DEFAULTS,
      hops: 3,
      weights: { text: 0, vector: 1, graph: 1 },
      candidates: 1,
      maxSentences: 10,
      rerankWeight: 1,
    })
  })
})

describe('the request body', () => {
  it('contains only values that differ from the defaults', () => {
    expect(bodyOf(form({ mode: 'search' }))).toEqual({ query: 'pump' })
    expect(bodyOf(form({ mode: 'answer' }))).toEqual({ query: 'pump' })
    expect(bodyOf(form())).toEqual({ query: 'pump', explain: true })
    expect(bodyOf(form({ rerank: true, mode: 'search' }))).toEqual({ query: 'pump', rerank: {} })
    expect(bodyOf(form({ to: '2026', mode: 'search' }))).toEqual({
      query: 'pump',
      timestamp: { to: '2026-01-01T00:00:00Z' },
    })
  })

  it('contains every field that its route accepts, and no other', () => {
    const common = { query: 'pump', limit: 20, ...FILTERS }
    expect(bodyOf(FULL, 40)).toEqual({ ...common, offset: 40, ...PAGE })
    expect(bodyOf({ ...FULL, mode: 'hybrid', explain: true }, 40)).toEqual({
      ...common,
      offset: 40,
      ...PAGE,
      ...GRAPH,
      explain: true,
      includeEdges: true,
    })
    expect(bodyOf({ ...FULL, mode: 'answer' }, 40)).toEqual({
      ...common,
      ...GRAPH,
      maxSentences: 5,
      mode: 'generate',
    })
  })

  it('has options of facets only with the facets that they require', () => {
    expect(bodyOf({ ...FULL, facets: [] })).not.toHaveProperty('facetLimit')
    expect(bodyOf({ ...FULL, facets: ['tags'] })).not.toHaveProperty('facetInterval')
  })

  it('is sent to the route of its mode', () => {
    expect(['search', 'hybrid', 'answer'].map((mode) => pathOf(mode as Form['mode']))).toEqual([
      '/rag/search',
      '/rag/hybrid-search',
      '/rag/answer',
    ])
  })

  it('is quoted for the shell in the curl command', () => {
    const text = curlOf('http://h', '/rag/search', A, { query: "it's $HOME `x`" })
    expect(text).toContain(`--data-raw '{"query":"it'\\''s $HOME \`x\`"}'`)
    expect(text).toContain('http://h/api/rag/search')
  })
})

describe('the form of a saved query', () => {
  it.each(['search', 'hybrid', 'answer'] as const)(
    'has the request of the form that was saved: %s',
    (mode) => {
      for (const saved of [form({ mode }), form({ mode, explain: false }), { ...FULL, mode }]) {
        const request = bodyOf(saved) as Record<string, unknown>
        const read = formOfSaved({ kind: kindOf(mode), request })
        expect(bodyOf(read)).toEqual(request)
        expect(read.mode).toBe(mode)
      }
    },
  )

  it('has the defaults of the API for what the request does not set', () => {
    expect(formOfSaved({ kind: 'hybrid-search', request: { query: 'x' } })).toEqual({
      ...DEFAULTS,
      query: 'x',
      explain: false,
    })
    expect(formOfSaved({ kind: 'answer', request: { query: 'x', limit: null, weights: null } })).toEqual({
      ...DEFAULTS,
      mode: 'answer',
      query: 'x',
      explain: false,
    })
  })

  it('has at most the results that the server returns', () => {
    expect(formOfSaved({ kind: 'search', request: { query: 'x', limit: 500 } }).limit).toBe(100)
  })
})

describe('the check of a form', () => {
  it('accepts a form within the limits', () => {
    expect(checkForm(FULL)).toEqual({})
    expect(checkForm({ ...FULL, mode: 'answer' })).toEqual({})
  })

  it('reports invalid fields', () => {
    expect(checkForm(form({ query: ' \n' })).query).toContain('query')
    expect(checkForm(form({ query: '', mode: 'answer' })).query).toContain('question')
    expect(checkForm(form({ properties: 'site' })).properties).toContain('site')
    expect(checkForm(form({ nodeIds: [A, 'x'] })).nodeIds).toContain('“x”')
    expect(checkForm(form({ documents: ['manual.md'] })).documents).toContain('“manual.md” is not a document')
    expect(checkForm(form({ from: 'tomorrow' })).from).toContain('2026-11-21')
    expect(checkForm(form({ from: '2026', to: '2026' })).to).toContain('after')
  })

  it('reports lists and items that are too long', () => {
    const many = (n: number) => Array.from({ length: n }, (_, i) => `t${i}`)
    expect(checkForm(form({ tags: many(64), allTags: many(64) }))).toEqual({})
    expect(checkForm(form({ tags: many(65) })).tags).toContain('64')
    expect(checkForm(form({ allTags: ['x'.repeat(129)] })).allTags).toContain('128')
    expect(checkForm(form({ relationTypes: ['x'.repeat(129)] })).relationTypes).toContain('128')
    // A character outside of the basic plane counts once, as for the server.
    expect(checkForm(form({ tags: ['😀'.repeat(128)] }))).toEqual({})
  })

  it('reports weights that are all 0, unless edges are not used', () => {
    const weights = { text: 0, vector: 0, graph: 0 }
    expect(checkForm(form({ weights })).weights).toBeDefined()
    expect(checkForm(form({ weights, mode: 'answer' })).weights).toBeDefined()
    expect(checkForm(form({ weights, mode: 'search' }))).toEqual({})
  })

  it('limits queries that a model reads', () => {
    const query = 'x'.repeat(1001)
    expect(checkForm(form({ query }))).toEqual({})
    expect(checkForm(form({ query, generate: true }))).toEqual({})
    expect(checkForm(form({ query, rerank: true })).query).toContain('1000')
    expect(checkForm(form({ query, generate: true, mode: 'answer' })).query).toContain('chat model')
  })

  it('counts the filters that are set', () => {
    expect(filterCount(form())).toBe(0)
    expect(filterCount(FULL)).toBe(10)
  })
})
