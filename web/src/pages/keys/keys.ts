// What is known of keys without asking anybody.

import { SCOPES, type Key } from '@/api/types'

/** Scopes in few words. */
export function scopesInWords(scopes: readonly string[]): string {
  if (scopes.length === 0) return 'none'
  if (scopes.includes('admin')) return 'admin'
  return scopes.length === SCOPES.length - 1 ? 'all but admin' : scopes.join(', ')
}

/** Keys by name or what is shown of them, newest first. Pure. */
export function found(keys: readonly Key[], text: string): Key[] {
  const wanted = text.trim().toLowerCase()
  return keys
    .filter(
      (k) =>
        k.name.toLowerCase().includes(wanted) ||
        wanted.startsWith(k.display.toLowerCase()) ||
        k.display.toLowerCase().includes(wanted) ||
        k.id === wanted,
    )
    .sort((a, b) => b.createdAt.localeCompare(a.createdAt))
}
