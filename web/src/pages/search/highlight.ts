// Highlights query words in a text as text segments, without markup.

export interface Piece {
  text: string
  hit: boolean
}

/** Stop words, which are not highlighted if a query has other words. */
const COMMON = new Set(
  'a an and are as at be by does for from how in is it of on or over that the this to was what when where which who why with'.split(
    ' ',
  ),
)

/** Removes case and accents, like the search. */
function fold(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
}

/** Returns the words of a query to highlight, folded. */
export function wordsOf(query: string): string[] {
  const all = [...new Set(fold(query).match(/[\p{L}\p{N}]+/gu) ?? [])]
  const significant = all.filter((word) => !COMMON.has(word) && word.length > 1)
  return significant.length > 0 ? significant : all
}

/**
 * Splits a text into segments and marks those that start with a word of the query. Word endings may differ, as in
 * "disk" and "disks".
 */
export function highlight(text: string, words: readonly string[]): Piece[] {
  const pieces: Piece[] = []
  let remaining = 0
  if (words.length > 0) {
    for (const match of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
      if (!matchesAny(fold(match[0]), words)) continue
      if (match.index > remaining) pieces.push({ text: text.slice(remaining, match.index), hit: false })
      pieces.push({ text: match[0], hit: true })
      remaining = match.index + match[0].length
    }
  }
  if (remaining < text.length) pieces.push({ text: text.slice(remaining), hit: false })
  return pieces
}

function matchesAny(word: string, words: readonly string[]): boolean {
  return words.some((sought) => {
    if (word === sought) return true
    const [short, long] = word.length < sought.length ? [word, sought] : [sought, word]
    return short.length >= 3 && long.length - short.length <= 3 && long.startsWith(short)
  })
}
