import { useQuery } from '@tanstack/react-query'
import { FileCode } from 'lucide-react'
import { useState } from 'react'

import { api } from '@/api'
import { useWorkspace } from '@/app/workspace'
import {
  Badge,
  CodeBlock,
  Dialog,
  Empty,
  ErrorNotice,
  Name,
  Notice,
  num,
  Panel,
  plural,
  Skeleton,
  Table,
  Time,
  type Column,
} from '@/ui'

import { keyOf, useList, type RuleFile } from './data'

/** The maximum number of files of a workspace. */
const ALL = 100

const COLUMNS: readonly Column<RuleFile>[] = [
  { id: 'name', head: 'File', primary: true, cell: (f) => <Name text={f.name} strong /> },
  { id: 'groups', head: 'Groups', numeric: true, cell: (f) => num(f.groups) },
  { id: 'rules', head: 'Rules', numeric: true, cell: (f) => num(f.rules) },
  {
    id: 'health',
    head: 'State',
    cell: (f) => <Health file={f} />,
  },
  { id: 'evaluated', head: 'Evaluated', cell: (f) => <Time at={f.lastEvaluation} none="not yet" /> },
  { id: 'updated', head: 'Changed', wide: true, cell: (f) => <Time at={f.updatedAt} /> },
]

function Health({ file }: { file: RuleFile }) {
  if (file.failing > 0) return <Badge tone="bad" dot>{`${plural(file.failing, 'rule')} failing`}</Badge>
  return (
    <Badge tone={file.lastEvaluation ? 'ok' : 'neutral'} dot>
      {file.lastEvaluation ? 'ok' : 'not evaluated yet'}
    </Badge>
  )
}

/** The files of rules. */
export function Rules() {
  const { id } = useWorkspace()
  const [open, setOpen] = useState<string | null>(null)
  const list = useList<RuleFile>(id, '/rules', { limit: ALL })
  const file = list.data?.data.find((f) => f.name === open)
  if (list.error && !list.data) {
    return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  }
  return (
    <div className="stack">
      <Panel flush>
        <Table
          label="Files of rules"
          columns={COLUMNS}
          rows={list.data?.data}
          rowKey={(f) => f.name}
          onOpen={(f) => setOpen(f.name)}
          selected={open}
          loading={list.isPending}
          empty={
            <Empty icon={<FileCode size={20} />} title="No rules yet">
              <p>Recording and alerting rules are files in Prometheus’ format.</p>
              <CodeBlock label="Command" code={`livegraph rules put machines.yml --workspace ${id}`} />
            </Empty>
          }
        />
      </Panel>
      {file && <FileDetails workspace={id} file={file} onClose={() => setOpen(null)} />}
    </div>
  )
}

function FileDetails({
  workspace,
  file,
  onClose,
}: {
  workspace: string
  file: RuleFile
  onClose: () => void
}) {
  const content = useQuery({
    queryKey: [...keyOf(workspace), 'file', file.name, file.version],
    queryFn: ({ signal }) =>
      api.get<{ content: string }>(`/rules/${encodeURIComponent(file.name)}`, { workspace, signal }),
  })
  return (
    <Dialog open side size="l" onClose={onClose} title={<Name text={file.name} max={200} />}>
      <div className="stack">
        {file.lastError && (
          <Notice tone="warn" title={`${plural(file.failing, 'rule')} failing`}>
            <p>{file.lastError}</p>
          </Notice>
        )}
        {content.error && <ErrorNotice error={content.error} onRetry={() => void content.refetch()} />}
        {content.data ? (
          <CodeBlock label="Rules" code={content.data.content} />
        ) : (
          !content.error && <Skeleton lines={8} />
        )}
      </div>
    </Dialog>
  )
}
