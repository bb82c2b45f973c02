import { BellOff } from 'lucide-react'
import { useState } from 'react'

import { useWorkspace } from '@/app/workspace'
import { Badge, Empty, ErrorNotice, Name, Pager, Panel, Table, Time, type Column } from '@/ui'

import { ALERT_TONES, labelsText, PAGE, useList, valueText, type Alert } from './data'

const COLUMNS: readonly Column<Alert>[] = [
  {
    id: 'state',
    head: 'State',
    narrow: true,
    cell: (a) => (
      <Badge tone={ALERT_TONES[a.state]} dot>
        {a.state}
      </Badge>
    ),
  },
  {
    id: 'name',
    head: 'Alert',
    primary: true,
    cell: (a) => (
      <div className="alerts-name">
        <Name text={a.name} strong />
        {a.annotations.summary && <span className="muted">{a.annotations.summary}</span>}
      </div>
    ),
  },
  { id: 'labels', head: 'Labels', cell: (a) => <span className="name">{labelsText(a.labels)}</span> },
  { id: 'value', head: 'Value', numeric: true, cell: (a) => valueText(a.value) },
  { id: 'since', head: 'Since', cell: (a) => <Time at={a.activeAt} none="unknown" /> },
  { id: 'file', head: 'File', wide: true, cell: (a) => <Name text={a.file} /> },
]

/** The alerts that fire or are pending. */
export function Alerts() {
  const { id } = useWorkspace()
  const [offset, setOffset] = useState(0)
  const list = useList<Alert>(id, '/alerts', { offset })
  if (list.error && !list.data) {
    return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  }
  return (
    <div className="stack">
      <Panel flush>
        <Table
          label="Active alerts"
          columns={COLUMNS}
          rows={list.data?.data}
          rowKey={(a) => `${a.file} ${a.group} ${a.name} ${labelsText(a.labels)}`}
          loading={list.isPending}
          stale={list.isPlaceholderData}
          empty={
            <Empty icon={<BellOff size={20} />} title="No active alert">
              <p>Nothing fires, and nothing is pending.</p>
            </Empty>
          }
        />
      </Panel>
      {list.data && list.data.meta.total > PAGE && (
        <Pager meta={list.data.meta} onOffset={setOffset} what="alerts" />
      )}
    </div>
  )
}
