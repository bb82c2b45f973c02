// What is known of keys without asking anybody.

import { SCOPES } from '@/api/types'

/** Scopes in few words. */
export function scopesInWords(scopes: readonly string[]): string {
  if (scopes.length === 0) return 'none'
  if (scopes.includes('admin')) return 'admin'
  return scopes.length === SCOPES.length - 1 ? 'all but admin' : scopes.join(', ')
}

/** How much of a key's text is kept and shown. */
const DISPLAYED = 'lg_live_'.length + 4

/** The filter of keys. It contains only the visible prefix of a key's text; the rest is never sent. */
export function searchText(typed: string): string {
  const text = typed.trim()
  return /^lg_(live|test)_/i.test(text) ? text.slice(0, DISPLAYED) : text
}
