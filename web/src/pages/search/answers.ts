// An answer for display: its sentences by source, and the passages that they are from.

import { webUrl } from '@/ui/format'

import type { Piece } from './highlight'
import type { Sentence } from './types'

/** Sentences that follow each other and are from one source. */
export interface Paragraph {
  citation: number
  sentences: Sentence[]
}

/** Returns quoted sentences in paragraphs, one for each change of the source. */
export function paragraphsOf(sentences: readonly Sentence[]): Paragraph[] {
  const paragraphs: Paragraph[] = []
  for (const sentence of sentences) {
    const last = paragraphs.at(-1)
    if (last?.citation === sentence.citation) last.sentences.push(sentence)
    else paragraphs.push({ citation: sentence.citation, sentences: [sentence] })
  }
  return paragraphs
}

/** The characters of a description that are shown before and after a sentence. */
const CONTEXT = 160

interface Span {
  from: number
  to: number
}

/**
 * Returns the part of a description around sentences of it, with these marked. Null if the description does not have
 * the sentences at their positions, because it was changed after the answer.
 */
export function passageOf(description: string, sentences: readonly Sentence[]): Piece[] | null {
  const bytes = new TextEncoder().encode(description)
  const spans: Span[] = []
  for (const { start, end, text } of [...sentences].sort((a, b) => a.start - b.start)) {
    const found = decode(bytes.subarray(start, end))
    if (oneLine(found) !== oneLine(text)) return null
    const from = decode(bytes.subarray(0, start)).length
    spans.push({ from, to: from + found.length })
  }
  return piecesOf(description, spans)
}

// A byte order mark is a character of a description like others.
const decode = (bytes: Uint8Array) => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes)

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

/** Splits a text into marked spans and what is near them. Longer parts in between are omitted. */
function piecesOf(text: string, spans: readonly Span[]): Piece[] {
  const pieces: Piece[] = []
  const add = (part: string, hit: boolean) => {
    const shown = part.replace(/\s+/g, ' ')
    if (shown !== '') pieces.push({ text: shown, hit })
  }
  let at = 0
  spans.forEach(({ from, to }, i) => {
    if (from > at) add(between(text.slice(at, from), i > 0), false)
    add(text.slice(Math.max(from, at), to), true)
    at = Math.max(at, to)
  })
  add(beginning(text.slice(at)), false)
  return pieces
}

/** Returns a text before a mark: all of it or its end; with `after`, also its beginning, which follows a mark. */
function between(text: string, after: boolean): string {
  if (text.length <= (after ? 2 : 1) * CONTEXT) return text
  const end = text.slice(-CONTEXT).replace(/^\S*\s/, '')
  return after ? `${beginning(text)} ${end}` : `… ${end}`
}

function beginning(text: string): string {
  return text.length <= CONTEXT ? text : `${text.slice(0, CONTEXT).replace(/\s\S*$/, '')} …`
}

/** Returns the address of a document as a link; undefined if it is not an address of the web. */
export function webLinkOf(address: string | undefined): { href: string; label: string } | undefined {
  const url = webUrl(address)
  return url && { href: url.href, label: url.host + (url.pathname === '/' ? '' : url.pathname) }
}

/** The id of the element of a source. */
export const sourceId = (citation: number) => `search-source-${citation + 1}`
