// Lists in one line: items are separated by commas. An item that contains a comma is quoted as in JSON.

const ITEM = /\s*"(?:[^"\\]|\\.)*"\s*(?=,|$)|[^,]+/g

/** Parses a list. Items are trimmed, and repeated and empty ones are omitted. */
export function splitList(text: string): string[] {
  const items = (text.match(ITEM) ?? []).map((item) => unquote(item.trim()))
  return [...new Set(items.filter((item) => item !== ''))]
}

function unquote(item: string): string {
  if (!item.startsWith('"')) return item
  try {
    const parsed: unknown = JSON.parse(item)
    return typeof parsed === 'string' ? parsed : item
  } catch {
    return item
  }
}

/** Returns the text of a list, which `splitList` parses to the same. */
export function joinList(items: readonly string[]): string {
  return items
    .map((item) => (/^[^",\s]([^,\n]*[^,\s])?$/.test(item) ? item : JSON.stringify(item)))
    .join(', ')
}
