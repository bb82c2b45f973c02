import { ChartLine, Ellipsis, Eraser, Pencil, Trash2 } from 'lucide-react'
import { useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'

import { ApiError } from '@/api'
import { useWorkspace } from '@/app/workspace'
import {
  Button,
  ButtonLink,
  CodeBlock,
  Copyable,
  duration,
  Empty,
  ErrorNotice,
  Facts,
  IconButton,
  Menu,
  MenuItem,
  Name,
  Page,
  Panel,
  plural,
  Skeleton,
  Time,
  visible,
} from '@/ui'

import { exploreLink, useLinkQuery } from './address'
import { ingestText } from './curl'
import { useSource } from './data'
import { DeletePoints } from './DeletePoints'
import { DeleteSource } from './DeleteSource'
import { LiveCharts } from './LiveCharts'
import { StatusBadge, TagList } from './parts'
import { SeriesTable } from './SeriesTable'
import type { Source } from './shapes'
import { SourceForm } from './SourceForm'

/** A source: its fields and its live points. */
export function SourceView() {
  const { id = '' } = useParams()
  const source = useSource(id)
  const linkQuery = useLinkQuery()
  const trail = <Link to={`/sources${linkQuery()}`}>Sources</Link>
  if (source.data)
    return <SourceBody source={source.data} trail={trail} problem={source.isError ? source.error : null} />
  return (
    <Page title="Source" trail={trail}>
      {source.isPending && <Skeleton lines={5} />}
      {source.isError && source.error instanceof ApiError && source.error.status === 404 && (
        <Panel>
          <Empty
            title="Source not found"
            actions={
              <ButtonLink to={`/sources${linkQuery()}`} variant="primary">
                All sources
              </ButtonLink>
            }
          >
            <p>It was deleted, or belongs to another workspace.</p>
          </Empty>
        </Panel>
      )}
      {source.isError && !(source.error instanceof ApiError && source.error.status === 404) && (
        <ErrorNotice error={source.error} onRetry={() => void source.refetch()} />
      )}
    </Page>
  )
}

function SourceBody({
  source,
  trail,
  problem,
}: {
  source: Source
  trail: React.ReactNode
  problem: unknown
}) {
  const linkQuery = useLinkQuery()
  const navigate = useNavigate()
  const [open, setOpen] = useState<'edit' | 'points' | 'remove' | null>(null)
  const close = () => setOpen(null)
  return (
    <Page
      title={visible(source.name, 120)}
      trail={trail}
      lead={source.description ? visible(source.description, 600) : undefined}
      actions={
        <>
          <ButtonLink to={exploreLink(source.id, linkQuery)} icon={<ChartLine size={16} />}>
            Explore
          </ButtonLink>
          <Button icon={<Pencil size={16} />} onClick={() => setOpen('edit')}>
            Edit
          </Button>
          <Menu
            trigger={
              <IconButton label="More" variant="default">
                <Ellipsis size={16} />
              </IconButton>
            }
          >
            <MenuItem icon={<Eraser size={14} />} danger onSelect={() => setOpen('points')}>
              Delete points…
            </MenuItem>
            <MenuItem icon={<Trash2 size={14} />} danger onSelect={() => setOpen('remove')}>
              Delete the source…
            </MenuItem>
          </Menu>
        </>
      }
    >
      {problem !== null && <ErrorNotice error={problem} compact />}
      <Panel className="sources-facts">
        <Facts items={factsOf(source)} />
      </Panel>
      {source.status === 'never' && <FirstPointHelp source={source} />}
      <LiveCharts source={source} />
      <SeriesTable sourceId={source.id} />
      {open === 'edit' && <SourceForm source={source} onClose={close} />}
      {open === 'points' && <DeletePoints source={source} onClose={close} />}
      {open === 'remove' && (
        <DeleteSource
          source={source}
          onClose={close}
          onDone={() => void navigate(`/sources${linkQuery()}`)}
        />
      )}
    </Page>
  )
}

function factsOf(s: Source): Parameters<typeof Facts>[0]['items'] {
  return [
    ['Status', <StatusBadge key="status" status={s.status} />],
    ['Last seen', <Time key="seen" at={s.lastSeenAt} none="never" />],
    ['Expected every', s.intervalSeconds ? duration(s.intervalSeconds * 1000) : 'not set'],
    ['Retention', s.retentionDays ? plural(s.retentionDays, 'day') : 'as the workspace says'],
    s.unit !== null && ['Unit', <Name key="unit" text={s.unit} />],
    Object.keys(s.tags).length > 0 && ['Tags', <TagList key="tags" tags={s.tags} max={12} />],
    s.nodeId !== null && ['Node', <Copyable key="node" text={s.nodeId} label="Copy the node’s id" />],
    ['Id', <Copyable key="id" text={s.id} label="Copy the id" />],
    ['Changed', <Time key="changed" at={s.updatedAt} />],
    ['Created', <Time key="created" at={s.createdAt} />],
  ]
}

/** Instructions for a source without points. */
function FirstPointHelp({ source }: { source: Source }) {
  const workspace = useWorkspace()
  return (
    <Panel title="No points yet">
      <div className="stack">
        <p className="muted">
          Send a point in line protocol; it appears here a moment later. The key needs the scope
          write:livedata.
        </p>
        <CodeBlock
          label="Send a point"
          code={ingestText(window.location.origin, workspace.id, lineOf(source))}
        />
      </div>
    </Panel>
  )
}

/** Returns a point of the source in line protocol. An equals sign is escaped only in field names. */
function lineOf(source: Source): string {
  const measurement = source.name.replace(/[, ]/g, (c) => `\\${c}`)
  const field = (source.metrics[0]?.name ?? 'value').replace(/[, =]/g, (c) => `\\${c}`)
  return `${measurement} ${field}=1`
}
