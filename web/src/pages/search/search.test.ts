import { describe, expect, it } from 'vitest'

import { edge, node } from '../graph/model/fixtures'
import {
  idsToName,
  isShownElsewhere,
  lanesOf,
  degradedText,
  partsOf,
  percent,
  hitPathOf,
  timingText,
} from './explain'
import { highlight, wordsOf } from './highlight'
import type { Hit } from './types'

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
    for (const lane of ['text', 'vector', 'graph', 'rerank', 'liveData', 'generation']) {
      expect(degradedText([lane])).toMatch(/^(the|a) .+: .+/)
      expect(degradedText([lane])).not.toBe(lane)
    }
    expect(degradedText(['graph'])).toContain('too many')
    expect(degradedText(['vector', 'liveData'])).toBe(
      'the vector index or the embedder: no results by meaning' +
        '; and without the point store: latest values are missing',
    )
  })

  it('refers to other pages only if they show the cause', () => {
    expect(isShownElsewhere(['graph', 'rerank', 'generation'])).toBe(false)
    expect(isShownElsewhere(['graph', 'vector'])).toBe(true)
  })

  it('shows the name of an unknown lane', () => {
    expect(degradedText(['weather'])).toBe('weather')
  })
})

it('the duration of a search has what was reranked', () => {
  const meta = { total: 12, limit: 10, offset: 0, hasMore: true, nextCursor: null }
  expect(timingText(meta, 0.2)).toBe('in 1 ms')
  expect(timingText({ ...meta, total: 1000 }, 1234.5)).toBe('(that were ranked) in 1,235 ms')
  const rerank = { model: 'rerank-v3\u202e', candidates: 20, milliseconds: 8 }
  expect(timingText({ ...meta, rerank }, 40)).toBe('in 40 ms, 20 reranked by rerank-v3[U+202E]')
})
