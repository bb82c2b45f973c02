import { SlidersHorizontal } from 'lucide-react'
import { useState } from 'react'
import { Link } from 'react-router'

import { Button, Page } from '@/ui'

import { usePageParams, useLinkQuery } from './address'
import { Builder } from './Builder'
import { usePoints } from './data'
import { type Explore, paramsOf, problemsOf, readExplore, writeExplore } from './query'
import { RangeBar } from './RangeBar'
import { Results } from './Results'

/** Points of the workspace as a chart, a table, a file or a command. */
export function Explorer() {
  const [params, write] = usePageParams()
  const linkQuery = useLinkQuery()
  const [every, setEvery] = useState('')
  const [building, setBuilding] = useState(false)
  const explore = readExplore(params)
  const problems = problemsOf(explore)
  const valid = Object.keys(problems).length === 0
  const pairs = valid ? paramsOf(explore) : null
  const points = usePoints(pairs, every)

  /** A changed query starts with the first page of series. */
  const change = (next: Partial<Explore>, push = false) =>
    write(writeExplore({ ...explore, offset: 0, ...next }), { push })

  return (
    <Page
      title="Data explorer"
      trail={<Link to={`/sources${linkQuery()}`}>Sources</Link>}
      actions={
        <Button
          className="sources-toggle"
          icon={<SlidersHorizontal size={16} />}
          aria-expanded={building}
          aria-controls="sources-builder"
          onClick={() => setBuilding(!building)}
        >
          {building ? 'Hide the query' : 'Change the query'}
        </Button>
      }
    >
      <div className="sources-explore" data-building={building}>
        <aside id="sources-builder" className="sources-builder" aria-label="Query">
          <Builder explore={explore} problems={problems} answer={points.data} onChange={change} />
        </aside>
        <div className="stack">
          <RangeBar
            explore={explore}
            every={every}
            onEvery={setEvery}
            busy={points.isFetching}
            onChange={change}
            onReload={() => void points.refetch()}
          />
          <Results
            explore={explore}
            pairs={pairs}
            answer={points.data}
            stale={points.isPlaceholderData}
            pending={points.isPending && valid}
            error={points.error}
            onChange={change}
            onReload={() => void points.refetch()}
          />
        </div>
      </div>
    </Page>
  )
}
