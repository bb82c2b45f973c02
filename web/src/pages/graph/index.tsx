// The graph explorer: a workspace's nodes and edges on a canvas, which can be looked at, followed, and changed.

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
import { nodesOf } from './model/trail'
import type { Change } from './model/types'
import { aroundKey, ExplorerProvider } from './parts/context'
import { Workbench } from './parts/Workbench'

/** Nodes that an address can ask for. */
const MOST_ASKED = 200

export default function GraphPage() {
  const { id: workspace } = useWorkspace()
  const [params] = useSearchParams()
  const client = useQueryClient()
  const shared = useMemo(() => {
    const source = graphSource(workspace)
    return { workspace, source, explorer: new Explorer(source) }
  }, [workspace])
  const { explorer, source } = shared
  // Where the stream goes on: what is loaded afterwards is at least as new, so that nothing is missed in between.
  const [head, seeking] = useHead(source)
  const [again, setAgain] = useState(0)
  const asked = params.getAll('node').slice(0, MOST_ASKED).join(',')

  useEffect(() => {
    void explorer.start(asked === '' ? [] : asked.split(','))
    return () => explorer.close()
  }, [explorer, asked])

  const stream = useEvents('/queries/events', {
    workspace,
    query: { after: head },
    enabled: head !== null,
    again,
    onEvent: (event) => {
      // The graph is another one than what is shown, as after a restore: nothing of it can be kept.
      if (event.event === 'reset') window.location.reload()
      if (event.event !== 'change') return
      const change = JSON.parse(event.data) as Change
      explorer.change(change)
      for (const id of nodesOf(change)) void client.invalidateQueries({ queryKey: aroundKey(workspace, id) })
    },
  })

  return (
    <ExplorerProvider value={shared}>
      <Page title="Graph" full>
        <Workbench stream={head === null ? seeking : stream} onReconnect={() => setAgain(again + 1)} />
      </Page>
    </ExplorerProvider>
  )
}
