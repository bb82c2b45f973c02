import './pipeline.css'

import { useLocation, useNavigate } from 'react-router'

import { Page, Tabs } from '@/ui'

import { DeadLetters } from './DeadLetters'
import { Replays } from './Replays'
import { Topics } from './Topics'

const VIEWS = ['topics', 'dead-letters', 'replays'] as const

type View = (typeof VIEWS)[number]

/** The pipeline: topics, dead letters and replays. */
export default function PipelinePage() {
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const part = pathname.split('/')[2]
  const view: View = VIEWS.find((item) => item === part) ?? 'topics'
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
