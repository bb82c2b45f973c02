// What the parts of the explorer share.

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

/** Of react-query: everything about one node or edge. */
export const aroundKey = (workspace: string, id: string) => ['graph', workspace, 'around', id] as const

/** The name of a node that is on the canvas, fit to be shown; of another the end of its id. */
export function namer(canvas: Canvas): (id: string) => string {
  return (id) => {
    const shown = canvas.nodes.get(id)
    return shown ? visible(shown.node.name, 80) : `node ${shortId(id)}`
  }
}
