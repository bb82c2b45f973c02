// The graph explorer: shows and edits the nodes and edges of a workspace on a canvas.

import './graph.css'

import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useMemo, useState } from 'react'
import { useSearchParams } from 'react-router'

import { useEvents } from '@/api'
import { useWorkspace } from '@/app/workspace'
import { Page } from '@/ui'

import { Explorer } from './data/explorer'
import { useHead } from './data/head'
import { graphSource } from './data/source'
import { affectedNodeIds } from './model/diffs'
import type { Change } from './model/types'
import { resourceKey, ExplorerProvider } from './parts/context'
import { Workbench } from './parts/Workbench'

/** The maximum number of nodes that a URL can name. */
const MAX_REQUESTED_IDS = 200

export default function GraphPage() {
  const { id: workspace } = useWorkspace()
  const [params] = useSearchParams()
  const client = useQueryClient()
  const shared = useMemo(() => {
    const source = graphSource(workspace)
    return { workspace, source, explorer: new Explorer(source) }
  }, [workspace])
  const { explorer, source } = shared
  // The stream starts here. What is loaded afterwards is at least as new, so no change is missed.
  const [head, headState] = useHead(source)
  const [generation, setGeneration] = useState(0)
  const requestedIds = params.getAll('node').slice(0, MAX_REQUESTED_IDS).join(',')

  useEffect(() => {
    void explorer.start(requestedIds === '' ? [] : requestedIds.split(','))
    return () => explorer.close()
  }, [explorer, requestedIds])

  const stream = useEvents('/queries/events', {
    workspace,
    query: { after: head },
    enabled: head !== null,
    generation,
    onEvent: (event) => {
      // The graph was replaced, for example by a restore: nothing of the canvas is valid.
      if (event.event === 'reset') window.location.reload()
      if (event.event !== 'change') return
      const change = JSON.parse(event.data) as Change
      explorer.onChange(change)
      for (const id of affectedNodeIds(change))
        void client.invalidateQueries({ queryKey: resourceKey(workspace, id) })
    },
  })

  return (
    <ExplorerProvider value={shared}>
      <Page title="Graph" full>
        <Workbench
          stream={head === null ? headState : stream}
          onReconnect={() => setGeneration(generation + 1)}
        />
      </Page>
    </ExplorerProvider>
  )
}
