import { useState } from 'react'
import { Link } from 'react-router'

import {
  Badge,
  Bytes,
  bytes,
  compact,
  Dialog,
  duration,
  ErrorNotice,
  Facts,
  Notice,
  Num,
  num,
  Panel,
  plural,
  Skeleton,
  Sparkline,
  Stat,
  Table,
  type Column,
} from '@/ui'

import { type TopicsSample, useTopics } from './data'
import type { Partition, ReaderPartition, Topic } from './shapes'
import { unreadShare, type Rates, type TopicPair, topicPairs } from './throughput'

/** The lag of this topic is not critical: its consumers catch up by other means, too. */
const EVENTS_TOPIC = 'graph.events'

const isLagging = (topic: Topic) => (unreadShare(topic) ?? 0) >= 0.5

interface Row extends TopicPair {
  rates: Rates | undefined
}

/** The topics: their size, their write rate and the lag of their consumers. */
export function Topics() {
  const sample = useTopics()
  const [open, setOpen] = useState<string | null>(null)
  const rows =
    sample.data &&
    topicPairs(sample.data.topics).map((pair): Row => ({
      ...pair,
      rates: sample.data.rates.get(pair.topic.topic),
    }))
  const shown = sample.data?.topics.find((topic) => topic.topic === open)
  return (
    <div className="stack">
      {sample.isError && <ErrorNotice error={sample.error} onRetry={() => void sample.refetch()} />}
      {sample.isPending && <Skeleton height={88} />}
      {sample.data && <Figures sample={sample.data} />}
      {rows?.some((row) => isLagging(row.topic) && row.topic.topic === EVENTS_TOPIC) && (
        <Notice tone="warn" title="The search index is far behind the graph">
          <p>
            Unread records of {EVENTS_TOPIC} fill more than half of the log's retention. Search finds old
            content until they are read. Check that the roles run and reach their stores. The consumers read
            removed records from the nodes.
          </p>
        </Notice>
      )}
      {rows?.some((row) => isLagging(row.topic) && row.topic.topic !== EVENTS_TOPIC) && (
        <Notice tone="warn" title="A consumer is far behind">
          <p>
            Unread records fill more than half of the log's retention. Requests get 503 before the log removes
            unread records. Check that the role runs and reaches its store.
          </p>
        </Notice>
      )}
      {!(sample.isError && !sample.data) && (
        <Panel flush>
          <Table
            label="Topics"
            columns={COLUMNS}
            rows={rows}
            loading={sample.isPending}
            rowKey={(row) => row.topic.topic}
            onOpen={(row) => setOpen(row.topic.topic)}
            skeletonRows={4}
          />
        </Panel>
      )}
      {shown && (
        <TopicDetails
          topic={shown}
          rates={sample.data?.rates.get(shown.topic)}
          onClose={() => setOpen(null)}
        />
      )}
    </div>
  )
}

function Figures({ sample }: { sample: TopicsSample }) {
  const sum = (of: (topic: Topic) => number) => sample.topics.reduce((all, topic) => all + of(topic), 0)
  const lag = sum((topic) => topic.lag ?? 0)
  const open = sum((topic) => topic.deadLetters?.open ?? 0)
  const points = sample.rates.get('points')
  const slowest = Math.max(0, ...[...sample.rates.values()].map((rates) => rates.caughtUpIn ?? 0))
  return (
    <div className="pipeline-figures">
      <Panel>
        <Stat
          label="Point records written"
          value={points?.written == null ? '–' : compact(points.written)}
          unit={points?.written == null ? '' : '/s'}
          trend={points?.writtenTrend ?? []}
          note="each contains many points"
        />
      </Panel>
      <Panel>
        <Stat
          label="Unread records"
          value={<Num n={lag} short />}
          tone={lag > 10_000 ? 'warn' : 'neutral'}
          trend={points?.lagTrend ?? []}
          note={
            lag === 0
              ? 'all consumers are up to date'
              : slowest > 0
                ? `catches up in about ${duration(slowest * 1000)}`
                : 'over all consumers'
          }
        />
      </Panel>
      <Panel>
        <Stat
          label="Open dead letters"
          value={<Num n={open} short />}
          tone={open > 0 ? 'warn' : 'neutral'}
          note={open > 0 ? <Link to="/pipeline/dead-letters">show them</Link> : 'every record was processed'}
        />
      </Panel>
      <Panel>
        <Stat
          label="Stored in the log"
          value={<Bytes n={sum((topic) => topic.bytes)} />}
          note={plural(
            sum((topic) => topic.records),
            'record',
          )}
        />
      </Panel>
    </div>
  )
}

const COLUMNS: Column<Row>[] = [
  {
    id: 'topic',
    head: 'Topic',
    primary: true,
    cell: ({ topic }) => (
      <span className="pipeline-topic">
        <b>{topic.topic}</b>
        <span className="muted">{plural(topic.partitions.length, 'partition')}</span>
      </span>
    ),
  },
  {
    id: 'written',
    head: 'Written',
    numeric: true,
    narrow: true,
    cell: ({ rates }) => <Rate rates={rates?.written} trend={rates?.writtenTrend} />,
  },
  {
    id: 'lag',
    head: 'Lag',
    numeric: true,
    narrow: true,
    cell: ({ topic, rates }) =>
      topic.lag === null ? (
        <span className="muted">no reader</span>
      ) : (
        <span className="pipeline-rate">
          <Sparkline values={rates?.lagTrend ?? []} tone={topic.lag > 0 ? 'warn' : 'neutral'} />
          <Num n={topic.lag} short />
        </span>
      ),
  },
  {
    id: 'caught',
    head: 'Catches up in',
    numeric: true,
    narrow: true,
    wide: true,
    cell: ({ rates }) =>
      rates?.caughtUpIn ? duration(rates.caughtUpIn * 1000) : <span className="muted">–</span>,
  },
  {
    id: 'records',
    head: 'Records',
    numeric: true,
    narrow: true,
    wide: true,
    cell: ({ topic }) => <Num n={topic.records} short />,
  },
  {
    id: 'size',
    head: 'Size',
    numeric: true,
    narrow: true,
    cell: ({ topic }) => (
      <span title={kept(topic)}>
        <Bytes n={topic.bytes} />
      </span>
    ),
  },
  {
    id: 'group',
    head: 'Read by',
    cell: ({ topic }) => <Readers topic={topic} />,
  },
  {
    id: 'dead',
    head: 'Dead letters',
    narrow: true,
    cell: ({ deadLetters }) => <DeadLetterCount deadLetters={deadLetters} />,
  },
]

/** The consumers of a topic; if there are several, with the lag of each. */
function Readers({ topic }: { topic: Topic }) {
  if (topic.readers.length === 0) return <span className="muted">–</span>
  return (
    <ul className="pipeline-readers">
      {topic.readers.map((reader) => (
        <li key={reader.group}>
          <code>{reader.group}</code>
          {topic.readers.length > 1 && (
            <span className="muted nowrap">
              {reader.lag === 0 ? 'up to date' : `lag ${compact(reader.lag)}`}
            </span>
          )}
        </li>
      ))}
    </ul>
  )
}

function Rate({
  rates,
  trend,
}: {
  rates: number | null | undefined
  trend: Rates['writtenTrend'] | undefined
}) {
  return (
    <span className="pipeline-rate">
      <Sparkline values={trend ?? []} />
      {rates == null ? <span className="muted">–</span> : `${compact(rates)} /s`}
    </span>
  )
}

function DeadLetterCount({ deadLetters }: { deadLetters: Topic | null }) {
  const counts = deadLetters?.deadLetters
  if (!counts) return <span className="muted">–</span>
  const all = counts.open + counts.redriven + counts.discarded
  if (all === 0) return <span className="muted">none</span>
  return (
    <Link
      to={`/pipeline/dead-letters?topic=${encodeURIComponent(deadLetters.topic)}${counts.open === 0 ? '&state=all' : ''}`}
    >
      {counts.open > 0 ? <Badge tone="warn">{num(counts.open)} open</Badge> : `${num(all)} closed`}
    </Link>
  )
}

const kept = (topic: Topic) =>
  topic.retentionBytes < 0 ? 'Unlimited' : `Retention: ${bytes(topic.retentionBytes)} for each partition`

const PARTITIONS: Column<Partition>[] = [
  { id: 'partition', head: 'Partition', primary: true, narrow: true, cell: (p) => <b>{p.partition}</b> },
  { id: 'begin', head: 'Start', numeric: true, wide: true, cell: (p) => <Num n={p.begin} /> },
  { id: 'end', head: 'End', numeric: true, cell: (p) => <Num n={p.end} /> },
  { id: 'bytes', head: 'Size', numeric: true, cell: (p) => <Bytes n={p.bytes} /> },
]

const READ: Column<ReaderPartition>[] = [
  { id: 'partition', head: 'Partition', primary: true, narrow: true, cell: (p) => <b>{p.partition}</b> },
  { id: 'committed', head: 'Committed', numeric: true, cell: (p) => <Num n={p.committed} /> },
  { id: 'lag', head: 'Lag', numeric: true, cell: (p) => <Num n={p.lag} /> },
]

function TopicDetails({
  topic,
  rates,
  onClose,
}: {
  topic: Topic
  rates: Rates | undefined
  onClose: () => void
}) {
  return (
    <Dialog
      open
      side
      size="l"
      onClose={onClose}
      title={topic.topic}
      lead={plural(topic.partitions.length, 'partition')}
    >
      <div className="stack">
        <Facts
          items={[
            ['Name on the brokers', <code key="name">{topic.name}</code>],
            [
              'Read by',
              topic.readers.length > 0 ? <Readers key="readers" topic={topic} /> : 'no built-in consumer',
            ],
            ['Written', rates?.written == null ? '–' : `${compact(rates.written)} records/s`],
            topic.lag !== null && ['Read', rates?.read == null ? '–' : `${compact(rates.read)} records/s`],
            topic.lag !== null && ['Lag', num(topic.lag)],
            ['Records', num(topic.records)],
            ['Size', bytes(topic.bytes)],
            [
              'Retention',
              topic.retentionBytes < 0 ? 'unlimited' : `${bytes(topic.retentionBytes)} a partition`,
            ],
          ]}
        />
        <div className="pipeline-inset">
          <Table
            label={`Partitions of ${topic.topic}`}
            columns={PARTITIONS}
            rows={topic.partitions}
            rowKey={(p) => String(p.partition)}
          />
        </div>
        {topic.readers.map((reader) => (
          <section key={reader.group} className="stack">
            <h3 className="pipeline-reader">
              <code>{reader.group}</code> <span className="muted">lag {num(reader.lag)}</span>
            </h3>
            <div className="pipeline-inset">
              <Table
                label={`Partitions as ${reader.group} reads them`}
                columns={READ}
                rows={reader.partitions}
                rowKey={(p) => String(p.partition)}
              />
            </div>
          </section>
        ))}
      </div>
    </Dialog>
  )
}
