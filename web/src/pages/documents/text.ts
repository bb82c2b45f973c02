// The text of a document for display. Pure.

import { visible } from '@/ui/format'

import type { Passage } from './types'

/** Returns a text with its line breaks. Other invisible characters are escaped, as in all texts of users. */
export const paragraphs = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => visible(line.replaceAll('\t', '    '), line.length * 4 + 1))
    .join('\n')

export interface ShownPassage {
  passage: Passage
  /** The heading of the section, at its first passage. */
  heading: string | null
  /** The number of the page, at its first passage. */
  page: number | null
}

/** Returns the passages in their order, with headings and pages where they change. */
export function shownPassages(passages: readonly Passage[]): ShownPassage[] {
  const sorted = [...passages].sort((a, b) => a.index - b.index)
  return sorted.map((passage, i) => {
    const before = sorted[i - 1]
    return {
      passage,
      heading: passage.heading !== before?.heading ? passage.heading : null,
      page: passage.page !== before?.page ? passage.page : null,
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
