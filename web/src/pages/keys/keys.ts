// Functions of keys without requests.

import { SCOPES } from '@/api/types'

/** Returns a short description of scopes. */
export function scopesText(scopes: readonly string[]): string {
  if (scopes.length === 0) return 'none'
  if (scopes.includes('admin')) return 'admin'
  return scopes.length === SCOPES.length - 1 ? 'all but admin' : scopes.join(', ')
}

/** The length of the stored and displayed prefix of a key. */
const PREFIX_LENGTH = 'lg_live_'.length + 4

/** Returns the filter of keys. It contains only the visible prefix of a key's text; the rest is never sent. */
export function searchText(typed: string): string {
  const text = typed.trim()
  return /^lg_(live|test)_/i.test(text) ? text.slice(0, PREFIX_LENGTH) : text
}
