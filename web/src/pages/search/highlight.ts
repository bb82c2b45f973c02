// The words of a query in a text: pieces of text, never markup.

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

/** Without case and accents, as search compares. */
function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase()
}

/** The words of a query that are worth marking, folded. */
export function wordsOf(query: string): string[] {
  const all = [...new Set(folded(query).match(/[\p{L}\p{N}]+/gu) ?? [])]
  const telling = all.filter((word) => !COMMON.has(word) && word.length > 1)
  return telling.length > 0 ? telling : all
}

/**
 * Cuts a text into pieces, those that begin a word of the query marked. The ends of words may differ, by as much as
 * between "disk" and "disks".
 */
export function highlight(text: string, words: readonly string[]): Piece[] {
  const pieces: Piece[] = []
  let rest = 0
  if (words.length > 0) {
    for (const match of text.matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
      if (!suits(folded(match[0]), words)) continue
      if (match.index > rest) pieces.push({ text: text.slice(rest, match.index), hit: false })
      pieces.push({ text: match[0], hit: true })
      rest = match.index + match[0].length
    }
  }
  if (rest < text.length) pieces.push({ text: text.slice(rest), hit: false })
  return pieces
}

function suits(word: string, words: readonly string[]): boolean {
  return words.some((sought) => {
    if (word === sought) return true
    const [short, long] = word.length < sought.length ? [word, sought] : [sought, word]
    return short.length >= 3 && long.length - short.length <= 3 && long.startsWith(short)
  })
}
