import { useQuery } from '@tanstack/react-query'
import { FileCode, Pencil, Plus, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { useCommands } from '@/app/commands'
import { ConfirmRemoval } from '@/app/ConfirmRemoval'
import { useWorkspace } from '@/app/workspace'
import {
  Badge,
  Button,
  CodeBlock,
  Dialog,
  Empty,
  ErrorNotice,
  Facts,
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

import { filesKey, keyOf, useList, type RuleFile } from './data'
import { RuleEditor } from './RuleEditor'
import { MAX_FILES, pathOf, readFile, type StoredFile } from './writes'

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
  // The file that is edited; null: a new one. It is not part of the details, so that it stays when they close.
  const [editing, setEditing] = useState<{ file: StoredFile | null } | null>(null)
  const create = () => setEditing({ file: null })
  useCommands([{ id: 'rules', name: 'New file of rules', group: 'Alerts', run: create }])
  const list = useList<RuleFile>(id, '/rules', { limit: MAX_FILES })
  const files = list.data?.data
  const title = files ? files.length > 0 && plural(files.length, 'file') : 'Files'
  const file = files?.find((f) => f.name === open)
  if (list.error && !list.data) {
    return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  }
  return (
    <div className="stack">
      <Panel
        flush
        title={title}
        note={files && files.length > 0 && plural(sum(files), 'rule')}
        actions={
          files &&
          files.length > 0 && (
            <Button
              variant="primary"
              icon={<Plus size={16} />}
              disabled={files.length >= MAX_FILES}
              onClick={create}
            >
              New file
            </Button>
          )
        }
      >
        <Table
          label="Files of rules"
          columns={COLUMNS}
          rows={files}
          rowKey={(f) => f.name}
          onOpen={(f) => setOpen(f.name)}
          selected={open}
          loading={list.isPending}
          empty={
            <Empty
              icon={<FileCode size={20} />}
              title="No rules yet"
              actions={
                <Button variant="primary" icon={<Plus size={16} />} onClick={create}>
                  New file
                </Button>
              }
            >
              <p>
                Recording and alerting rules are files in Prometheus’ format. Send one, or write one here,
                beginning with an example.
              </p>
              <CodeBlock label="Command" code={`livegraph rules put machines.yml --workspace ${id}`} />
            </Empty>
          }
        />
      </Panel>
      {file && (
        <FileDetails
          workspace={id}
          file={file}
          onClose={() => setOpen(null)}
          onEdit={(text) => setEditing({ file: text })}
        />
      )}
      {editing && <RuleEditor workspace={id} file={editing.file} onClose={() => setEditing(null)} />}
    </div>
  )
}

const sum = (files: readonly RuleFile[]) => files.reduce((rules, file) => rules + file.rules, 0)

interface FileDetailsProps {
  workspace: string
  file: RuleFile
  onClose: () => void
  onEdit: (file: StoredFile) => void
}

function FileDetails({ workspace, file, onClose, onEdit }: FileDetailsProps) {
  const [deleting, setDeleting] = useState(false)
  const content = useQuery({
    queryKey: [...keyOf(workspace), 'file', file.name, file.version],
    queryFn: ({ signal }) => readFile(workspace, file.name, signal),
    staleTime: Infinity, // another version has another key
  })
  const { data } = content
  return (
    <Dialog
      open
      side
      size="l"
      onClose={onClose}
      title={<Name text={file.name} max={200} />}
      footer={
        <>
          <Button icon={<Trash2 size={14} />} onClick={() => setDeleting(true)}>
            Delete
          </Button>
          <Button
            variant="primary"
            icon={<Pencil size={14} />}
            busy={content.isPending}
            disabled={content.isError}
            onClick={() => data && onEdit(data)}
          >
            Edit
          </Button>
        </>
      }
    >
      <div className="stack">
        {file.lastError && (
          <Notice tone="warn" title={`${plural(file.failing, 'rule')} failing`}>
            <p>{file.lastError}</p>
          </Notice>
        )}
        <Facts
          items={[
            ['State', <Health key="state" file={file} />],
            ['Rules', `${plural(file.rules, 'rule')} in ${plural(file.groups, 'group')}`],
            ['Evaluated', <Time key="evaluated" at={file.lastEvaluation} none="not yet" />],
            ['Changed', <Time key="changed" at={file.updatedAt} absolute />],
            ['Created', <Time key="created" at={file.createdAt} absolute />],
          ]}
        />
        {content.error && <ErrorNotice error={content.error} onRetry={() => void content.refetch()} />}
        {data ? <CodeBlock label="Rules" code={data.content} /> : !content.error && <Skeleton lines={8} />}
      </div>
      <ConfirmRemoval
        open={deleting}
        onClose={() => setDeleting(false)}
        title="Delete this file?"
        action="Delete file"
        path={pathOf(file.name)}
        workspace={workspace}
        lists={filesKey(workspace)}
        successTitle="File deleted"
        successText={file.name}
        onDone={onClose}
      >
        <p>
          The {plural(file.rules, 'rule')} of{' '}
          <b>
            <Name text={file.name} max={100} />
          </b>{' '}
          {file.rules === 1 ? 'is' : 'are'} no longer evaluated, and {file.rules === 1 ? 'its' : 'their'}{' '}
          alerts are resolved. Recorded points stay. The text cannot be restored.
        </p>
      </ConfirmRemoval>
    </Dialog>
  )
}
