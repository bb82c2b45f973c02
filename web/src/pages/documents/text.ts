// The text of a document for display. Pure.

import { visible } from '@/ui/format'

import type { Passage } from './types'

/** Returns a text with its line breaks. Other invisible characters are escaped, as in all texts of users. */
export const lines = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => visible(line.replaceAll('\t', '    '), line.length * 4 + 1))
    .join('\n')

export interface Paragraph {
  text: string
  isHeading: boolean
}

/** Returns the paragraphs of a text, which are separated by empty lines. Those that equal a heading are headings. */
export function paragraphs(text: string, headings: ReadonlySet<string> = new Set()): Paragraph[] {
  return text
    .replace(/\r\n?/g, '\n')
    .split(/\n\s*\n/)
    .filter((part) => part.trim() !== '')
    .map((part) => ({ text: lines(part), isHeading: headings.has(part.trim()) }))
}

export interface ShownPassage {
  passage: Passage
  paragraphs: Paragraph[]
  /** The heading of the section, at its first passage, if it is not in the text. */
  heading: string | null
  /** The number of the page, at its first passage. */
  page: number | null
}

/** Returns the passages in their order, with headings and pages where they change. */
export function shownPassages(passages: readonly Passage[]): ShownPassage[] {
  const sorted = [...passages].sort((a, b) => a.index - b.index)
  const headings = new Set(sorted.flatMap(({ heading }) => (heading === null ? [] : [heading.trim()])))
  const written = new Set<string>()
  return sorted.map((passage, i) => {
    const before = sorted[i - 1]
    const parts = paragraphs(passage.text, headings)
    for (const part of parts) if (part.isHeading) written.add(part.text.trim())
    const { heading, page } = passage
    const begins = heading !== null && heading !== before?.heading && !written.has(lines(heading.trim()))
    return {
      passage,
      paragraphs: parts,
      heading: begins ? heading : null,
      page: page !== before?.page ? page : null,
    }
  })
}

/** Returns the URL of the source if a browser can open it safely. */
export function safeLink(url: string | null): string | null {
  if (!url) return null
  try {
    const { protocol } = new URL(url)
    return protocol === 'https:' || protocol === 'http:' ? url : null
  } catch {
    return null
  }
}
