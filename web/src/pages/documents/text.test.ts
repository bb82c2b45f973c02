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
    expect(parts).toEqual(['Pumps', 'One line\nand another', 'Pumps are loud\n'])
    expect(paragraphs(' \n\n ')).toEqual([])
  })

  it('has the section and the page of a passage', () => {
    expect(placeOf({ heading: 'Bearings', page: 2 }, 'Slide')).toBe('Bearings · Slide 2')
    expect(placeOf({ heading: 'a\u202eb', page: null }, 'Page')).toBe('a[U+202E]b')
    expect(placeOf({ heading: null, page: 1 }, 'Sheet')).toBe('Sheet 1')
    expect(placeOf({ heading: null, page: null }, 'Page')).toBe('')
  })

  it('links only to pages of the web', () => {
    expect(safeLink('https://wiki.example.com/a')).toBe('https://wiki.example.com/a')
    for (const url of ['javascript:alert(1)', 'file:///etc/passwd', 'no url', '', null])
      expect(safeLink(url)).toBeNull()
  })
})
