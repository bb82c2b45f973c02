import { describe, expect, it } from 'vitest'

import { lines, paragraphs, placeOf, safeLink } from './text'

describe('the text of a document', () => {
  it('keeps its lines, and escapes what is not visible', () => {
    expect(lines('a\r\nb\rc\n\td')).toBe('a\nb\nc\n    d')
    expect(lines('a\u202eb\u0000')).toBe('a[U+202E]b␀')
    expect(lines('long '.repeat(1000))).toBe('long '.repeat(1000))
  })

  it('is split at empty lines', () => {
    const parts = paragraphs('Pumps\r\n\r\nOne line\nand another\n \n\nPumps are loud\n')
    expect(parts).toEqual(['Pumps', 'One line\nand another', 'Pumps are loud'])
    expect(paragraphs(' \n\n ')).toEqual([])
  })

  it('joins the lines of broken prose, and keeps lists and tables', () => {
    const long = 'The pump moves water from the cellar to the hall, and the'
    expect(paragraphs(`${long}\n${long}\nend.`)).toEqual([`${long} ${long} end.`])
    for (const kept of [
      `${long}\nshort\n${long}`,
      `- ${long}\n- ${long}`,
      `1. ${long}\n2. ${long}`,
      '| a |\n| b |',
    ])
      expect(paragraphs(kept)).toEqual([kept])
    expect(paragraphs(`${long}\t1\n${long}\t2`)).toEqual([`${long}    1\n${long}    2`])
  })

  it('has the section and the page of a passage', () => {
    const place = (heading: string | null, page: number | null, text = 'x') =>
      placeOf({ heading, page, text }, 'Slide')
    expect(place('Bearings', 2)).toBe('Bearings · Slide 2')
    expect(place('Bearings', 2, '\nBearings\n\nare greased')).toBe('Slide 2')
    expect(place('a\u202eb', null)).toBe('a[U+202E]b')
    expect(place(null, 1)).toBe('Slide 1')
    expect(place(null, null)).toBe('')
  })

  it('links only to pages of the web', () => {
    expect(safeLink('https://wiki.example.com/a')).toBe('https://wiki.example.com/a')
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'no url', '', null])
      expect(safeLink(url)).toBeNull()
  })
})
