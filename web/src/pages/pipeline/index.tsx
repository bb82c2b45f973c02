import './pipeline.css'

import { useLocation, useNavigate } from 'react-router'

import { Page, Tabs } from '@/ui'

import { DeadLetters } from './DeadLetters'
import { Replays } from './Replays'
import { Topics } from './Topics'

const VIEWS = ['topics', 'dead-letters', 'replays'] as const

type View = (typeof VIEWS)[number]

/** The log and what reads it: topics, records that could not be processed, and reading once more. */
export default function PipelinePage() {
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const part = pathname.split('/')[2]
  const view: View = VIEWS.find((one) => one === part) ?? 'topics'
  return (
    <Page title="Pipeline" lead="The log between the API and the stores.">
      <Tabs
        label="Parts of the pipeline"
        value={view}
        onChange={(next) => void navigate(next === 'topics' ? '/pipeline' : `/pipeline/${next}`)}
        tabs={[
          { value: 'topics', label: 'Topics', content: <Topics /> },
          { value: 'dead-letters', label: 'Dead letters', content: <DeadLetters /> },
          { value: 'replays', label: 'Replays', content: <Replays /> },
        ]}
      />
    </Page>
  )
}
