import './audit.css'

import { useState } from 'react'
import { useSearchParams } from 'react-router'

import { Page, Tabs } from '@/ui'

import { OperatorActions } from './OperatorActions'
import { AccessLog } from './AccessLog'

export default function AuditPage() {
  const [params, setParams] = useSearchParams()
  const [tab, setTab] = useState<'uses' | 'trail'>(params.get('show') === 'operators' ? 'trail' : 'uses')
  return (
    <Page
      title="Audit log"
      lead="Every request with a key, including refused ones, and every action of an operator."
    >
      <Tabs
        label="Entries"
        value={tab}
        onChange={(next) => {
          setTab(next)
          setParams(next === 'trail' ? { show: 'operators' } : {})
        }}
        tabs={[
          { value: 'uses', label: 'Requests with keys', content: <AccessLog /> },
          { value: 'trail', label: 'Actions of operators', content: <OperatorActions /> },
        ]}
      />
    </Page>
  )
}
