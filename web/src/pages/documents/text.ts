// The text of a document for display. Pure.

import { visible, webUrl } from '@/ui/format'

import type { Passage } from './types'

/** Returns a text with its line breaks. Other invisible characters are escaped, as in all texts of users. */
export const lines = (text: string): string =>
  text
    .replace(/\r\n?/g, '\n')
    .split('\n')
    .map((line) => visible(line.replaceAll('\t', '    '), line.length * 4 + 1))
    .join('\n')

/** Lines of prose that was broken by an editor or a printer have at least this length. */
const BROKEN_LINE = 50

/**
 * Returns the paragraphs of a text, which are separated by empty lines. The lines of a paragraph are joined if all but
 * the last are as long as those of broken prose. Rows of tables, which contain tabs, and lists stay lines.
 */
export function paragraphs(text: string): string[] {
  const parts = text.replace(/\r\n?/g, '\n').split(/\n\s*\n/)
  return parts.filter((part) => part.trim() !== '').map((part) => lines(joined(part.trimEnd())))
}

function joined(paragraph: string): string {
  const list = paragraph.split('\n')
  const isProse =
    !paragraph.includes('\t') &&
    list.slice(0, -1).every((line) => line.length >= BROKEN_LINE) &&
    list.every((line) => !/^\s*([-*+•|]|\d+[.)])\s/.test(line))
  return isProse ? list.map((line) => line.trim()).join(' ') : paragraph
}

/** Returns the section in which a passage begins, unless its text begins with the heading, and its page. */
export function placeOf(passage: Pick<Passage, 'heading' | 'page' | 'text'>, pageWord: string): string {
  const { heading, page, text } = passage
  const isShown = heading !== null && !text.trimStart().startsWith(heading)
  return [isShown ? visible(heading, 200) : '', page === null ? '' : `${pageWord} ${page}`]
    .filter(Boolean)
    .join(' · ')
}

/** Returns the URL of the source if a browser can open it safely. */
export const safeLink = (url: string | null): string | null => (webUrl(url) ? url : null)
