import { describe, expect, it } from 'vitest'

import { paragraphs, safeLink, shownPassages } from './text'
import type { Passage } from './types'

const passage = (index: number, heading: string | null, page: number | null): Passage => ({
  id: `p${index}`,
  index,
  from: 0,
  to: 1,
  heading,
  page,
  text: 'x',
})

describe('the text of a document', () => {
  it('keeps its lines, and escapes what is not visible', () => {
    expect(paragraphs('a\r\nb\rc\n\n\td')).toBe('a\nb\nc\n\n    d')
    expect(paragraphs('a\u202eb\u0000')).toBe('a[U+202E]b␀')
    expect(paragraphs('long '.repeat(1000))).toBe('long '.repeat(1000))
  })

  it('is shown in order, with headings and pages where they begin', () => {
    const list = [passage(2, 'B', 2), passage(0, 'A', 1), passage(1, 'A', 2), passage(3, null, null)]
    expect(shownPassages(list).map((item) => [item.passage.index, item.heading, item.page])).toEqual([
      [0, 'A', 1],
      [1, null, 2],
      [2, 'B', null],
      [3, null, null],
    ])
    expect(shownPassages([passage(0, null, null)])[0]).toMatchObject({ heading: null, page: null })
  })

  it('links only to pages of the web', () => {
    expect(safeLink('https://wiki.example.com/a')).toBe('https://wiki.example.com/a')
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'no url', '', null])
      expect(safeLink(url)).toBeNull()
  })
})
