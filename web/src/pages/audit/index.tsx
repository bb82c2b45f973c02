import './audit.css'

import { useState } from 'react'
import { useSearchParams } from 'react-router'

import { Page, Tabs } from '@/ui'

import { Trail } from './Trail'
import { Uses } from './Uses'

export default function AuditPage() {
  const [params, setParams] = useSearchParams()
  const [tab, setTab] = useState<'uses' | 'trail'>(params.get('show') === 'operators' ? 'trail' : 'uses')
  return (
    <Page
      title="Audit log"
      lead="Every use of a key, refused ones included, and everything that operators changed."
    >
      <Tabs
        label="What is listed"
        value={tab}
        onChange={(next) => {
          setTab(next)
          setParams(next === 'trail' ? { show: 'operators' } : {})
        }}
        tabs={[
          { value: 'uses', label: 'Uses of keys', content: <Uses /> },
          { value: 'trail', label: 'What operators did', content: <Trail /> },
        ]}
      />
    </Page>
  )
}
