import { describe, expect, it } from 'vitest'

import { lines, paragraphs, safeLink, shownPassages } from './text'
import type { Passage } from './types'

const passage = (index: number, heading: string | null, page: number | null, text = 'x'): Passage => ({
  id: `p${index}`,
  index,
  from: 0,
  to: 1,
  heading,
  page,
  text,
})

describe('the text of a document', () => {
  it('keeps its lines, and escapes what is not visible', () => {
    expect(lines('a\r\nb\rc\n\td')).toBe('a\nb\nc\n    d')
    expect(lines('a\u202eb\u0000')).toBe('a[U+202E]b␀')
    expect(lines('long '.repeat(1000))).toBe('long '.repeat(1000))
  })

  it('is split at empty lines, and headings are recognised', () => {
    const parts = paragraphs('Pumps\r\n\r\nOne line\nand another\n \n\nPumps are loud\n', new Set(['Pumps']))
    expect(parts).toEqual([
      { text: 'Pumps', isHeading: true },
      { text: 'One line\nand another', isHeading: false },
      { text: 'Pumps are loud\n', isHeading: false },
    ])
    expect(paragraphs(' \n\n ')).toEqual([])
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

  it('does not repeat a heading that it contains', () => {
    const shown = shownPassages([passage(0, 'A', null, 'A\n\nx\n\nB\n\ny'), passage(1, 'B', null, 'z')])
    expect(shown.map((item) => item.heading)).toEqual([null, null])
    expect(shown[0]?.paragraphs.filter((part) => part.isHeading).map((part) => part.text)).toEqual(['A', 'B'])
  })

  it('links only to pages of the web', () => {
    expect(safeLink('https://wiki.example.com/a')).toBe('https://wiki.example.com/a')
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'no url', '', null])
      expect(safeLink(url)).toBeNull()
  })
})
