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

/** Returns the paragraphs of a text, which are separated by empty lines. */
export const paragraphs = (text: string): string[] =>
  text
    .replace(/\r\n?/g, '\n')
    .split(/\n\s*\n/)
    .filter((part) => part.trim() !== '')
    .map(lines)

/** Returns where in the document a passage begins: its section and its page; empty if neither is known. */
export function placeOf({ heading, page }: Pick<Passage, 'heading' | 'page'>, pageWord: string): string {
  return [heading === null ? '' : visible(heading, 200), page === null ? '' : `${pageWord} ${page}`]
    .filter(Boolean)
    .join(' · ')
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
