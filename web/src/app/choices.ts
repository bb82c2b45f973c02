import type { Workspace } from '@/api'

/** Those whose name has a text, or whose id it is: as the server finds them. Pure. */
export function called(all: readonly Workspace[], text: string): readonly Workspace[] {
  const wanted = text.trim().toLowerCase()
  return wanted === '' ? all : all.filter((w) => w.name.toLowerCase().includes(wanted) || w.id === wanted)
}
