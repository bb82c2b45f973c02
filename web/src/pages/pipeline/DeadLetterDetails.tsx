import { RotateCcw, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'

import { useWorkspaceNames } from '@/app/workspace'
import {
  Button,
  CodeBlock,
  Copyable,
  Dialog,
  ErrorNotice,
  Facts,
  Name,
  num,
  plural,
  Skeleton,
  Table,
  Time,
  visible,
  type Column,
} from '@/ui'

import { StateBadge } from './badges'
import { useDeadLetter } from './data'
import { hexDump, refKey } from './deadLetterActions'
import type { Action, Decoded, DecodedSeries, RecordRef, DeadLetterDetail } from './shapes'

/** The details of a dead letter. */
export function DeadLetterDetails({
  recordRef,
  onClose,
  onAct,
}: {
  recordRef: RecordRef
  onClose: () => void
  onAct: (action: Action) => void
}) {
  const letter = useDeadLetter(recordRef)
  return (
    <Dialog
      open
      side
      size="l"
      onClose={onClose}
      title="Dead letter"
      lead={refKey(recordRef)}
      footer={
        letter.data && (
          <>
            <Button icon={<Trash2 size={14} />} onClick={() => onAct('discard')}>
              Discard…
            </Button>
            <Button variant="primary" icon={<RotateCcw size={14} />} onClick={() => onAct('redrive')}>
              Redrive…
            </Button>
          </>
        )
      }
    >
      {letter.isPending && <Skeleton lines={8} />}
      {letter.isError && <ErrorNotice error={letter.error} onRetry={() => void letter.refetch()} />}
      {letter.data && <DeadLetterBody letter={letter.data} />}
    </Dialog>
  )
}

function DeadLetterBody({ letter: l }: { letter: DeadLetterDetail }) {
  const nameOf = useWorkspaceNames([l.workspaceId])
  const owner = l.workspaceId && (nameOf(l.workspaceId) ?? l.workspaceId)
  return (
    <div className="stack">
      <p className="pipeline-reason">{visible(l.reason || 'No reason', 2000)}</p>
      <Facts
        items={[
          ['State', <StateBadge key="state" state={l.state} />],
          l.mark !== null && [
            `${l.mark.state === 'redriven' ? 'Redriven' : 'Discarded'} by`,
            <span key="mark">
              <Name text={l.mark.by} max={80} /> · <Time at={l.mark.at} />
            </span>,
          ],
          Boolean(l.mark?.reason) && ['Why', <Name key="why" text={l.mark?.reason} max={400} />],
          ['Failed at', <Time key="at" at={l.at} absolute />],
          ['Original record', l.origin ? <code key="origin">{refKey(l.origin)}</code> : 'unknown'],
          ['Workspace', owner ? <Name key="workspace" text={owner} /> : 'unknown'],
          ['Content type', <Name key="holds" text={l.holds} max={160} />],
          [
            'Request',
            l.requestId ? (
              <Copyable key="request" text={l.requestId} label="Copy the request’s id" />
            ) : (
              'unknown'
            ),
          ],
          ['Bytes', num(l.bytes)],
        ]}
      />
      <Content decoded={l.decoded} />
      <Headers headers={l.headers} />
      <Bytes title="Key" base64={l.key} />
      <Bytes title="Value" base64={l.value} />
    </div>
  )
}

function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="pipeline-section">
      <h3>{title}</h3>
      {children}
    </section>
  )
}

/** The decoded content of the record. */
function Content({ decoded: d }: { decoded: Decoded }) {
  return (
    <Section title="Content">
      {d.problem !== undefined && (
        <p className="muted">
          It cannot be decoded: <Name text={d.problem} max={600} />
        </p>
      )}
      {d.receivedAt !== undefined && (
        <p className="muted">
          Received <Time at={d.receivedAt} absolute />
        </p>
      )}
      {d.series && (
        <div className="pipeline-inset">
          <Table
            label="Series of the record"
            columns={SERIES}
            rows={d.series}
            rowKey={(s) => JSON.stringify([s.sourceId, s.metric, s.kind, s.tags])}
          />
        </div>
      )}
      {Boolean(d.moreSeries) && <p className="muted">And {num(d.moreSeries)} more series.</p>}
      {d.deletions && <CodeBlock label="Deletions" code={JSON.stringify(d.deletions, null, 2)} />}
      {d.command && <CodeBlock label="Command" code={JSON.stringify(d.command, null, 2)} />}
      {d.event !== undefined && <CodeBlock label="Event" code={JSON.stringify(d.event, null, 2)} />}
      {d.use && <CodeBlock label="Audit record" code={JSON.stringify(d.use, null, 2)} />}
    </Section>
  )
}

const SERIES: Column<DecodedSeries>[] = [
  { id: 'metric', head: 'Metric', primary: true, cell: (s) => <Name text={s.metric} strong /> },
  {
    id: 'tags',
    head: 'Tags',
    cell: (s) => (
      <Name
        text={Object.entries(s.tags)
          .map(([key, value]) => `${key}=${value}`)
          .join(', ')}
        max={120}
      />
    ),
  },
  { id: 'count', head: 'Points', numeric: true, narrow: true, cell: (s) => num(s.count) },
  { id: 'from', head: 'From', narrow: true, wide: true, cell: (s) => <Time at={s.from} absolute /> },
  {
    id: 'first',
    head: 'First values',
    cell: (s) => <Name text={s.points.map(([, value]) => String(value)).join(', ')} max={80} />,
  },
]

function Headers({ headers }: { headers: Record<string, string> }) {
  const names = Object.keys(headers).sort()
  if (names.length === 0) return null
  return (
    <Section title="Headers">
      <dl className="pipeline-headers">
        {names.map((name) => (
          <div key={name}>
            <dt>
              <Name text={name} max={80} />
            </dt>
            <dd>{visible(headers[name] ?? '', 600)}</dd>
          </div>
        ))}
      </dl>
    </Section>
  )
}

function Bytes({ title, base64 }: { title: string; base64: string | null }) {
  if (!base64) return null
  const { lines, bytes } = hexDump(base64)
  return (
    <Section title={`${title}, ${plural(bytes, 'byte')}${bytes > 1024 ? ' (the first 1,024)' : ''}`}>
      <CodeBlock label={`${title} in hexadecimal`} code={lines.join('\n')} />
    </Section>
  )
}
