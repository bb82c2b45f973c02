// The shared context of the explorer.

import { createContext, useContext, useSyncExternalStore } from 'react'

import { shortId, visible } from '@/ui'

import type { Explorer, ExplorerState } from '../data/explorer'
import type { GraphSource } from '../data/source'
import type { Canvas } from '../model/canvas'

export interface Shared {
  workspace: string
  source: GraphSource
  explorer: Explorer
}

const Context = createContext<Shared | null>(null)
export const ExplorerProvider = Context.Provider

export function useShared(): Shared {
  const shared = useContext(Context)
  if (!shared) throw new Error('useShared outside of ExplorerProvider')
  return shared
}

export function useExplorer(explorer: Explorer): ExplorerState {
  return useSyncExternalStore(explorer.subscribe, explorer.snapshot)
}

/** The query key of everything about one node or edge. */
export const resourceKey = (workspace: string, id: string) => ['graph', workspace, 'around', id] as const

/** Returns a function that returns the displayable name of a node on the canvas; of other nodes the end of the id. */
export function nodeNamer(canvas: Canvas): (id: string) => string {
  return (id) => {
    const shown = canvas.nodes.get(id)
    return shown ? visible(shown.node.name, 80) : `node ${shortId(id)}`
  }
}
