import { describe, expect, it } from 'vitest'

import { edge, node } from '../graph/model/fixtures'
import { curlOf } from './curl'
import { idsToName, lanesOf, degradedText, partsOf, percent, hitPathOf } from './explain'
import { bodyOf, checkForm, DEFAULTS, formOf, paramsOf, readFilters, type Form } from './form'
import { highlight, wordsOf } from './highlight'
import type { Hit } from './types'

const form = (more: Partial<Form>): Form => ({ ...DEFAULTS, query: 'pump', ...more })
const A = '0194a5b0-0000-7000-8000-00000000000a'

describe('the form', () => {
  it('is unchanged after a round trip through the URL', () => {
    const full = form({
      mode: 'search',
      limit: 20,
      entityTypes: ['object', 'actor'],
      minScore: 0.25,
      properties: 'site = north\nline = 7',
      includeContent: true,
      hops: 0,
      direction: 'in',
      relationTypes: ['part of', 'a,b'],
      nodeIds: [A],
      weights: { text: 0, vector: 0.5, graph: 1 },
      explain: false,
      includeEdges: true,
      includeLiveData: true,
    })
    expect(formOf(new URLSearchParams(paramsOf(full).toString()))).toEqual(full)
  })

  it('omits default values and keeps other parameters of the URL', () => {
    expect(paramsOf(form({ query: '' }), new URLSearchParams('workspace=w&q=old')).toString()).toBe(
      'workspace=w',
    )
  })

  it('replaces invalid values in the URL', () => {
    const made = formOf(new URLSearchParams('hops=99&limit=x&text=-1&mode=y&type=z&direction=up'))
    expect(made).toMatchObject({
      hops: 3,
      limit: 10,
      weights: { text: 0 },
      mode: 'hybrid',
      entityTypes: [],
      direction: 'both',
    })
  })

  it('reports invalid fields', () => {
    expect(checkForm(form({ query: ' \n' })).query).toBeDefined()
    expect(checkForm(form({ weights: { text: 0, vector: 0, graph: 0 } })).weights).toBeDefined()
    expect(checkForm(form({ mode: 'search', weights: { text: 0, vector: 0, graph: 0 } }))).toEqual({})
    expect(checkForm(form({ nodeIds: [A, 'x'] })).nodeIds).toContain('“x”')
  })
})

describe('filters by properties', () => {
  it('keep the types of values', () => {
    const read = readFilters(
      'site = north\nline=7\ncode = "7"\non = true\nfloor = [1, 2]\nline = 8\nexpr = a=b',
    )
    expect('filters' in read && Object.fromEntries(read.filters)).toEqual({
      site: ['north'],
      line: [7, 8],
      code: ['7'],
      on: [true],
      floor: [1, 2],
      expr: ['a=b'],
    })
  })

  it.each(['north', '= x', 'site =', 'a = []'])('report an error for %s', (text) => {
    expect(readFilters(text)).toHaveProperty('wrong')
  })
})

describe('the request body', () => {
  it('contains only values that differ from the defaults', () => {
    expect(bodyOf(form({ mode: 'search' }))).toEqual({ query: 'pump' })
    expect(bodyOf(form({ hops: 3, weights: { text: 1, vector: 0.5, graph: 1 } }), 20)).toEqual({
      query: 'pump',
      offset: 20,
      hops: 3,
      weights: { vector: 0.5 },
      explain: true,
    })
    expect(bodyOf(form({ properties: 'site = north', explain: false }))).toEqual({
      query: 'pump',
      properties: { site: 'north' },
    })
  })

  it('is quoted for the shell in the curl command', () => {
    const text = curlOf('http://h', '/rag/search', A, { query: "it's $HOME `x`" })
    expect(text).toContain(`--data-raw '{"query":"it'\\''s $HOME \`x\`"}'`)
    expect(text).toContain('http://h/api/rag/search')
  })
})

describe('highlighted words', () => {
  const marked = (text: string, query: string) =>
    highlight(text, wordsOf(query))
      .filter(({ hit }) => hit)
      .map((piece) => piece.text)

  it('match the query regardless of case, accents and endings', () => {
    expect(marked('The Pumps of Zürich leak', 'pump zurich leaking')).toEqual(['Pumps', 'Zürich', 'leak'])
    expect(marked('a cat in a category', 'cat')).toEqual(['cat'])
  })

  it('exclude stop words, unless the query has no other words', () => {
    expect(marked('what is the disk', 'what is the disk')).toEqual(['disk'])
    expect(marked('to be', 'to be')).toEqual(['to', 'be'])
  })

  it('do not change the text', () => {
    const text = '<b>pump</b> & more\u0301 …'
    expect(
      highlight(text, wordsOf('pump'))
        .map((piece) => piece.text)
        .join(''),
    ).toBe(text)
    expect(highlight('', ['x'])).toEqual([])
  })
})

const hit = (more: Partial<Hit>): Hit => ({
  node: node('hit'),
  score: 1,
  scores: { text: 0.5, vector: null, graph: 0.2 },
  snippet: '',
  matchedChunk: null,
  path: [],
  ...more,
})

describe('the explanation', () => {
  const reason = (kind: 'text' | 'graph' | 'named', share: number, nodeId: string | null = null) => ({
    kind,
    share,
    nodeId,
    detail: '',
  })

  it('has shares that add up to one', () => {
    const parts = partsOf([reason('text', 0.2), reason('graph', 0.5, 'a')])
    expect(parts.map(({ kind, share }) => [kind, share])).toEqual([
      ['graph', 0.5],
      ['text', 0.2],
      ['rest', expect.closeTo(0.3)],
    ])
    const rounded = partsOf([reason('text', 0.7), reason('named', 0.5)])
    expect(rounded.reduce((sum, part) => sum + part.share, 0)).toBeCloseTo(1)
    expect(partsOf([])).toEqual([])
  })

  it('distinguishes a lane without the hit from one without a contribution', () => {
    expect(lanesOf(hit({})).map(({ lane, score }) => [lane, score])).toEqual([
      ['text', 0.5],
      ['vector', null],
      ['graph', 0.2],
    ])
    expect(lanesOf(hit({ scores: { text: 0, vector: 1 } })).length).toBe(2)
  })

  it('draws the path from the seed regardless of the edge directions', () => {
    const path = hitPathOf(
      hit({ path: [edge('1', 'seed', 'mid', 'feeds'), edge('2', 'hit', 'mid', 'part of')] }),
    )
    expect(path?.nodes.map(({ id, role, column }) => [id, role, column])).toEqual([
      ['seed', 'seed', 0],
      ['mid', 'step', 1],
      ['hit', 'hit', 2],
    ])
    expect(path?.edges.map(({ from, to, label, backwards }) => [from, to, label, backwards])).toEqual([
      ['seed', 'mid', 'feeds', false],
      ['mid', 'hit', 'part of', true],
    ])
  })

  it('draws other seeds below, each once, without those on the path', () => {
    const explanation = [
      reason('graph', 0.4, 'seed'),
      reason('graph', 0.3, 'other'),
      reason('graph', 0.1, 'hit'),
    ]
    const path = hitPathOf(hit({ path: [edge('1', 'seed', 'hit')], explanation }))
    expect(path?.nodes.map(({ id, row }) => [id, row])).toEqual([
      ['seed', 0],
      ['hit', 0],
      ['other', 1],
    ])
    expect(path?.edges.at(-1)).toMatchObject({ from: 'other', to: 'hit', label: '30 %', direct: false })
  })

  it('draws nothing if the path is empty or disconnected', () => {
    expect(hitPathOf(hit({}))).toBeNull()
    expect(hitPathOf(hit({ path: [edge('1', 'a', 'b'), edge('2', 'c', 'd')] }))).toBeNull()
  })

  it('requests the names of nodes that are not hits', () => {
    const hits = [hit({ path: [edge('1', 'seed', 'hit')], explanation: [reason('graph', 0.3, 'other')] })]
    expect(idsToName(hits)).toEqual(['seed', 'other'])
  })

  it('shows small shares as less than one percent', () => {
    expect([percent(0), percent(0.004), percent(0.256)]).toEqual(['0 %', '<1 %', '26 %'])
  })
})

describe('a degraded response', () => {
  it('describes each missing lane and its effect', () => {
    for (const lane of ['text', 'vector', 'graph', 'liveData']) {
      expect(degradedText([lane])).toMatch(/^(the|a) .+: .+/)
      expect(degradedText([lane])).not.toBe(lane)
    }
    expect(degradedText(['graph'])).toContain('too many')
    expect(degradedText(['vector', 'liveData'])).toBe(
      'the vector index or the embedder: no results by meaning' +
        '; and without the point store: latest values are missing',
    )
  })

  it('shows the name of an unknown lane', () => {
    expect(degradedText(['weather'])).toBe('weather')
  })
})
