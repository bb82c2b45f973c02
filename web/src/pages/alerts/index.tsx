import './alerts.css'

import { useLocation, useNavigate } from 'react-router'

import { Page, Tabs } from '@/ui'

import { Alertmanagers } from './Alertmanagers'
import { Alerts } from './Alerts'
import { Rules } from './Rules'
import { Webhooks } from './Webhooks'

const VIEWS = ['active', 'rules', 'webhooks', 'alertmanagers'] as const

type View = (typeof VIEWS)[number]

/** The active alerts of a workspace, its files of rules, its webhooks, and its Alertmanagers. */
export default function AlertsPage() {
  const { pathname } = useLocation()
  const navigate = useNavigate()
  const part = pathname.split('/')[2]
  const view: View = VIEWS.find((item) => item === part) ?? 'active'
  return (
    <Page title="Alerts" lead="What the rules of the workspace report, and where it is sent.">
      <Tabs
        label="Parts of alerting"
        value={view}
        onChange={(next) => void navigate(next === 'active' ? '/alerts' : `/alerts/${next}`)}
        tabs={[
          { value: 'active', label: 'Active alerts', content: <Alerts /> },
          { value: 'rules', label: 'Rules', content: <Rules /> },
          { value: 'webhooks', label: 'Webhooks', content: <Webhooks /> },
          { value: 'alertmanagers', label: 'Alertmanagers', content: <Alertmanagers /> },
        ]}
      />
    </Page>
  )
}
