import { ChartLine, Pencil, Plus, Radio, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useNavigate } from 'react-router'

import { useCommands } from '@/app/commands'
import { useWorkspace } from '@/app/workspace'
import {
  Button,
  ButtonLink,
  CodeBlock,
  duration,
  Empty,
  ErrorNotice,
  IconButton,
  Name,
  Page,
  Pager,
  Panel,
  DebouncedSearch,
  plural,
  Table,
  Time,
  Tooltip,
  type Column,
} from '@/ui'

import { exploreLink, usePageParams, useLinkQuery } from './address'
import { ingestText } from './curl'
import { type SourceFilter, useSources } from './data'
import { DeleteSource } from './DeleteSource'
import { StatusBadge, TagList } from './parts'
import type { Source } from './shapes'
import { SourceForm } from './SourceForm'

type Open = { form: Source | null } | { remove: Source } | null

/** All sources of the workspace, paginated. */
export function SourceList() {
  const [params, write] = usePageParams()
  const filter = filterOf(params)
  const sources = useSources(filter)
  const linkQuery = useLinkQuery()
  const navigate = useNavigate()
  const [open, setOpen] = useState<Open>(null)
  const show = (source: Source) => void navigate(`/sources/${source.id}${linkQuery()}`)
  const set = (change: Partial<SourceFilter>) => write(addressOf({ ...filter, offset: 0, ...change }))
  useCommands([
    { id: 'new-source', name: 'New source', group: 'Sources', run: () => setOpen({ form: null }) },
  ])

  const narrowed = filter.name !== '' || filter.tag !== ''
  return (
    <Page
      title="Sources"
      lead="Senders of points, and their status."
      actions={
        <>
          <ButtonLink to={`/sources/explore${linkQuery()}`} icon={<ChartLine size={16} />}>
            Explore data
          </ButtonLink>
          <Button variant="primary" icon={<Plus size={16} />} onClick={() => setOpen({ form: null })}>
            New source
          </Button>
        </>
      }
    >
      <div className="row">
        <DebouncedSearch label="Part of the name" value={filter.name} onChange={(name) => set({ name })} />
        <DebouncedSearch label="Tag, as room=cellar" value={filter.tag} onChange={(tag) => set({ tag })} />
      </div>
      {sources.isError && <ErrorNotice error={sources.error} onRetry={() => void sources.refetch()} />}
      {!(sources.isError && !sources.data) && (
        <Panel flush>
          <Table
            label="Sources"
            columns={columnsOf(linkQuery, setOpen)}
            rows={sources.data?.data}
            loading={sources.isPending}
            stale={sources.isPlaceholderData}
            rowKey={(source) => source.id}
            onOpen={show}
            sort={filter.sort}
            onSort={(sort) => set({ sort })}
            empty={
              narrowed ? (
                <NoMatch onClear={() => set({ name: '', tag: '' })} />
              ) : (
                <NoSources onNew={() => setOpen({ form: null })} />
              )
            }
          />
          {sources.data && sources.data.meta.total > 0 && (
            <Pager
              meta={sources.data.meta}
              onOffset={(offset) => set({ offset })}
              what={narrowed ? 'that match' : 'sources'}
            />
          )}
        </Panel>
      )}
      {open && 'form' in open && (
        <SourceForm
          source={open.form}
          onClose={() => setOpen(null)}
          onDone={(source) => !open.form && show(source)}
        />
      )}
      {open && 'remove' in open && <DeleteSource source={open.remove} onClose={() => setOpen(null)} />}
    </Page>
  )
}

function columnsOf(linkQuery: ReturnType<typeof useLinkQuery>, open: (what: Open) => void): Column<Source>[] {
  return [
    { id: 'name', head: 'Name', sortable: true, primary: true, cell: (s) => <Name text={s.name} strong /> },
    { id: 'status', head: 'Status', narrow: true, cell: (s) => <StatusBadge status={s.status} /> },
    { id: 'seen', head: 'Last seen', narrow: true, cell: (s) => <Time at={s.lastSeenAt} none="never" /> },
    { id: 'tags', head: 'Tags', wide: true, cell: (s) => <TagList tags={s.tags} /> },
    {
      id: 'interval',
      head: 'Interval',
      numeric: true,
      narrow: true,
      wide: true,
      cell: (s) =>
        s.intervalSeconds ? duration(s.intervalSeconds * 1000) : <span className="muted">–</span>,
    },
    {
      id: 'kept',
      head: 'Retention',
      numeric: true,
      narrow: true,
      wide: true,
      cell: (s) =>
        s.retentionDays ? plural(s.retentionDays, 'day') : <span className="muted">as workspace</span>,
    },
    {
      id: 'updatedAt',
      head: 'Changed',
      sortable: true,
      narrow: true,
      wide: true,
      cell: (s) => <Time at={s.updatedAt} />,
    },
    {
      id: 'do',
      head: '',
      label: 'Actions',
      narrow: true,
      cell: (s) => (
        <span className="row-actions">
          <Tooltip text="Explore its points">
            <Link
              className="btn btn-ghost btn-icon btn-s"
              to={exploreLink(s.id, linkQuery)}
              aria-label="Explore its points"
            >
              <ChartLine size={14} />
            </Link>
          </Tooltip>
          <IconButton size="s" label="Edit" onClick={() => open({ form: s })}>
            <Pencil size={14} />
          </IconButton>
          <IconButton size="s" label="Delete" onClick={() => open({ remove: s })}>
            <Trash2 size={14} />
          </IconButton>
        </span>
      ),
    },
  ]
}

const SORTS = ['name', '-name', 'updatedAt', '-updatedAt', 'createdAt', '-createdAt']

function filterOf(params: URLSearchParams): SourceFilter {
  const sort = params.get('sort') ?? ''
  const offset = Number(params.get('offset'))
  return {
    name: params.get('name') ?? '',
    tag: params.get('tag') ?? '',
    sort: SORTS.includes(sort) ? sort : 'name',
    offset: Number.isSafeInteger(offset) && offset > 0 ? offset : 0,
  }
}

function addressOf(filter: SourceFilter): URLSearchParams {
  const params = new URLSearchParams()
  if (filter.name) params.set('name', filter.name)
  if (filter.tag) params.set('tag', filter.tag)
  if (filter.sort !== 'name') params.set('sort', filter.sort)
  if (filter.offset > 0) params.set('offset', String(filter.offset))
  return params
}

function NoMatch({ onClear }: { onClear: () => void }) {
  return (
    <Empty title="No source matches" actions={<Button onClick={onClear}>Clear filters</Button>}>
      <p>A name matches by any part, ignoring case; a tag by its whole value, as in room=cellar.</p>
    </Empty>
  )
}

function NoSources({ onNew }: { onNew: () => void }) {
  const workspace = useWorkspace()
  return (
    <Empty
      icon={<Radio size={20} />}
      title="No sources yet"
      actions={
        <Button variant="primary" onClick={onNew}>
          New source
        </Button>
      }
    >
      <p>
        Create one here, or send a point in line protocol, which creates its source. The key needs the scope
        write:livedata.
      </p>
      <CodeBlock
        label="Send a point"
        code={ingestText(window.location.origin, workspace.id, 'boiler,room=cellar temperature=71.5')}
      />
    </Empty>
  )
}
