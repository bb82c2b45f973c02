import { describe, expect, it } from 'vitest'

import { paragraphsOf, passageOf, webLinkOf } from './answers'
import type { Sentence } from './types'

/** Returns a sentence of a text, as the API has it: positions are in bytes of UTF-8. */
function sentence(text: string, part: string, citation = 0): Sentence {
  const from = text.indexOf(part)
  const start = new TextEncoder().encode(text.slice(0, from)).length
  const end = start + new TextEncoder().encode(part).length
  return { text: part.replace(/\s+/g, ' '), citation, start, end, score: 1 }
}

const shown = (pieces: ReturnType<typeof passageOf>) =>
  pieces?.map(({ text, hit }) => (hit ? `[${text}]` : text)).join('')

describe('the passage of a source', () => {
  it('has the sentences marked in their text, also after characters of several bytes', () => {
    const text = 'Größe: 7 😀 m.\nThe bearing is lubricated\nevery 500 hours. It runs hot.'
    const marked = sentence(text, 'The bearing is lubricated\nevery 500 hours.')
    expect(marked.start).toBeGreaterThan(text.indexOf('The'))
    expect(shown(passageOf(text, [marked]))).toBe(
      'Größe: 7 😀 m. [The bearing is lubricated every 500 hours.] It runs hot.',
    )
  })

  it('has sentences in the order of the text', () => {
    const text = 'One. Two. Three.'
    expect(shown(passageOf(text, [sentence(text, 'Three.'), sentence(text, 'One.')]))).toBe(
      '[One.] Two. [Three.]',
    )
  })

  it('omits what is far from the sentences, at the ends of words', () => {
    const words = Array.from({ length: 200 }, (_, i) => `word${i}`).join(' ')
    const text = `${words} First. ${words} Last. ${words}`
    const passage = shown(passageOf(text, [sentence(text, 'First.'), sentence(text, 'Last.')])) ?? ''
    expect(passage.length).toBeLessThan(800)
    expect(passage).toMatch(
      /^… word\d+ .* word199 \[First\.\] word0 .* word\d+ … word\d+ .* word199 \[Last\.\] word0 .* …$/,
    )
  })

  it('is null if the text was changed', () => {
    const marked = sentence('One. Two.', 'Two.')
    expect(passageOf('A. Two.', [marked])).toBeNull()
    expect(passageOf('', [marked])).toBeNull()
  })
})

it('sentences of one source in a row are a paragraph', () => {
  const of = (citation: number, text: string) => ({ ...sentence(text, text), citation })
  const paragraphs = paragraphsOf([of(0, 'a'), of(0, 'b'), of(1, 'c'), of(0, 'd')])
  expect(paragraphs.map(({ citation, sentences }) => [citation, sentences.map(({ text }) => text)])).toEqual([
    [0, ['a', 'b']],
    [1, ['c']],
    [0, ['d']],
  ])
})

describe('the address of a document', () => {
  it('is a link if it is one of the web', () => {
    expect(webLinkOf('https://docs.example.com/pumps?page=1')).toEqual({
      href: 'https://docs.example.com/pumps?page=1',
      label: 'docs.example.com/pumps',
    })
    expect(webLinkOf('HTTP://example.com')?.label).toBe('example.com')
    // The host is shown, not what precedes it.
    expect(webLinkOf('https://bank.example@evil.example/')?.label).toBe('evil.example')
  })

  it.each([
    'javascript:alert(1)',
    'javascript://example.com/%0Aalert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    '//example.com',
    'pumps',
    '',
    undefined,
  ])('is not a link: %s', (address) => expect(webLinkOf(address)).toBeUndefined())
})
