import type { Workspace } from '@/api'

/** Returns the workspaces whose name contains the text or whose id is the text, like the server. Pure. */
export function filterWorkspaces(all: readonly Workspace[], text: string): readonly Workspace[] {
  const query = text.trim().toLowerCase()
  return query === '' ? all : all.filter((w) => w.name.toLowerCase().includes(query) || w.id === query)
}
