// The saved queries of a workspace: the list, and the dialogs that change it.

import { Bookmark, EllipsisVertical, Pencil, Play, Replace, Save, Trash2 } from 'lucide-react'
import { useState } from 'react'

import { ConfirmRemoval } from '@/app/ConfirmRemoval'
import {
  Badge,
  Button,
  DebouncedSearch,
  Dialog,
  Empty,
  ErrorNotice,
  IconButton,
  Menu,
  MenuItem,
  MenuSeparator,
  Name,
  Pager,
  plural,
  Skeleton,
  Time,
  visible,
} from '@/ui'

import { KIND_LABELS, savedKey, savedPath, useSavedQueries } from '../savedQueries'
import type { SavedQuery } from '../types'
import { RenameDialog } from './SaveDialog'

interface SavedQueriesProps {
  workspace: string
  onClose: () => void
  /** Fills in the form and sends it. */
  onRun: (saved: SavedQuery) => void
  /** Opens the dialog that saves the form; with a query, the one that replaces it. */
  onSave: (replaced: SavedQuery | null) => void
}

type Action = { rename: SavedQuery } | { remove: SavedQuery }

export function SavedQueries({ workspace, onClose, onRun, onSave }: SavedQueriesProps) {
  const [name, setName] = useState('')
  const [offset, setOffset] = useState(0)
  const [action, setAction] = useState<Action | null>(null)
  const list = useSavedQueries(workspace, name, offset)
  const { data } = list
  const close = () => setAction(null)
  return (
    <Dialog
      open
      side
      onClose={onClose}
      title="Saved queries"
      lead={data && name === '' ? plural(data.meta.total, 'query', 'queries') : 'Of this workspace'}
      footer={
        <Button variant="primary" icon={<Save size={14} />} onClick={() => onSave(null)}>
          Save the form…
        </Button>
      }
    >
      <div className="stack">
        {(name !== '' || (data?.meta.total ?? 0) > 0) && (
          <div className="row search-saved-filter">
            <DebouncedSearch
              label="Part of the name"
              value={name}
              onChange={(next) => {
                setName(next)
                setOffset(0)
              }}
            />
          </div>
        )}
        {list.error && !data ? (
          <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        ) : !data ? (
          <Skeleton lines={6} />
        ) : data.data.length === 0 ? (
          <NoQueries filtered={name !== '' || offset > 0} />
        ) : (
          <ul className="search-saved" aria-label="Saved queries">
            {data.data.map((saved) => (
              <SavedItem
                key={saved.id}
                saved={saved}
                onRun={() => onRun(saved)}
                onReplace={() => onSave(saved)}
                onAction={setAction}
              />
            ))}
          </ul>
        )}
        {data && (data.meta.hasMore || offset > 0) && <Pager meta={data.meta} onOffset={setOffset} />}
      </div>
      {action && 'rename' in action && (
        <RenameDialog workspace={workspace} saved={action.rename} onClose={close} />
      )}
      {action && 'remove' in action && (
        <Removal workspace={workspace} saved={action.remove} onClose={close} />
      )}
    </Dialog>
  )
}

function NoQueries({ filtered }: { filtered: boolean }) {
  return (
    <Empty icon={<Bookmark size={20} />} title={filtered ? 'No matching queries' : 'No saved queries yet'}>
      <p>
        {filtered
          ? 'Change the part of the name.'
          : 'Fill in the form and save it under a name. Programs run it by its id, with POST /api/rag/queries/{id}/run.'}
      </p>
    </Empty>
  )
}

interface SavedItemProps {
  saved: SavedQuery
  onRun: () => void
  onReplace: () => void
  onAction: (action: Action) => void
}

function SavedItem({ saved, onRun, onReplace, onAction }: SavedItemProps) {
  const name = visible(saved.name, 80)
  const { query } = saved.request
  return (
    <li className="search-saved-item">
      <div className="search-saved-text">
        <p className="search-saved-name">
          <Name text={saved.name} strong max={MAX_SHOWN} />
          <Badge>{KIND_LABELS[saved.kind]}</Badge>
        </p>
        {saved.description !== '' && <p className="muted">{visible(saved.description, 200)}</p>}
        {typeof query === 'string' && <p className="search-saved-query">{visible(query, MAX_SHOWN)}</p>}
        <p className="search-note">
          changed <Time at={saved.updatedAt} />
        </p>
      </div>
      <span className="row-actions">
        <Button size="s" icon={<Play size={14} />} aria-label={`Run ${name}`} onClick={onRun}>
          Run
        </Button>
        <Menu
          trigger={
            <IconButton size="s" label={`More about ${name}`}>
              <EllipsisVertical size={14} />
            </IconButton>
          }
        >
          <MenuItem icon={<Pencil size={14} />} onSelect={() => onAction({ rename: saved })}>
            Rename…
          </MenuItem>
          <MenuItem icon={<Replace size={14} />} onSelect={onReplace}>
            Replace by the form…
          </MenuItem>
          <MenuSeparator />
          <MenuItem icon={<Trash2 size={14} />} danger onSelect={() => onAction({ remove: saved })}>
            Delete…
          </MenuItem>
        </Menu>
      </span>
    </li>
  )
}

/** The characters of a name or a query that are shown in the list. */
const MAX_SHOWN = 120

function Removal({
  workspace,
  saved,
  onClose,
}: {
  workspace: string
  saved: SavedQuery
  onClose: () => void
}) {
  return (
    <ConfirmRemoval
      open
      onClose={onClose}
      title="Delete this saved query?"
      action="Delete query"
      path={savedPath(saved.id)}
      workspace={workspace}
      lists={savedKey(workspace)}
      successTitle="Query deleted"
      successText={visible(saved.name, 100)}
      onDone={onClose}
    >
      <p>
        Programs that run{' '}
        <b>
          <Name text={saved.name} max={100} />
        </b>{' '}
        receive 404. It cannot be restored: a new query with this name has another id.
      </p>
    </ConfirmRemoval>
  )
}
