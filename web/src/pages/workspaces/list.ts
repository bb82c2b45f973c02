import type { Workspace } from '@/api'

/** Those whose name or id has the text, sorted. Pure. */
export function arranged(all: readonly Workspace[], text: string, sort: string): Workspace[] {
  const wanted = text.trim().toLowerCase()
  const found = all.filter((w) => w.name.toLowerCase().includes(wanted) || w.id === wanted)
  const field = sort.replace(/^-/, '') as 'name' | 'plan' | 'sources' | 'series' | 'createdAt'
  const way = sort.startsWith('-') ? -1 : 1
  return found.sort((a, b) => {
    const [x, y] = [a[field], b[field]]
    const order = typeof x === 'number' ? x - Number(y) : x.localeCompare(String(y))
    return way * order || a.id.localeCompare(b.id)
  })
}
