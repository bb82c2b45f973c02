import { useMutation, useQueryClient } from '@tanstack/react-query'
import { RotateCcw, Send, Webhook as WebhookIcon } from 'lucide-react'
import { useState } from 'react'

import { api } from '@/api'
import { useWorkspace } from '@/app/workspace'
import {
  Badge,
  Button,
  CodeBlock,
  Copyable,
  Dialog,
  Empty,
  ErrorNotice,
  Facts,
  Field,
  Name,
  Notice,
  Pager,
  Panel,
  plural,
  Select,
  Table,
  Time,
  useToast,
  type Column,
} from '@/ui'

import { DELIVERY_TONES, keyOf, PAGE, useList, type Delivery, type Webhook } from './data'

const COLUMNS: readonly Column<Webhook>[] = [
  { id: 'name', head: 'Name', primary: true, cell: (w) => <Name text={w.name} strong /> },
  { id: 'url', head: 'Address', cell: (w) => <Name text={w.url} /> },
  {
    id: 'events',
    head: 'Events',
    wide: true,
    cell: (w) => <span className="name">{w.events.join(', ')}</span>,
  },
  {
    id: 'state',
    head: 'State',
    narrow: true,
    cell: (w) => (
      <Badge tone={w.enabled ? 'ok' : 'neutral'} dot>
        {w.enabled ? 'enabled' : 'disabled'}
      </Badge>
    ),
  },
]

/** The webhooks. */
export function Webhooks() {
  const { id } = useWorkspace()
  const [open, setOpen] = useState<string | null>(null)
  const list = useList<Webhook>(id, '/webhooks', {})
  const webhook = list.data?.data.find((w) => w.id === open)
  if (list.error && !list.data) {
    return <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
  }
  return (
    <div className="stack">
      <Panel flush>
        <Table
          label="Webhooks"
          columns={COLUMNS}
          rows={list.data?.data}
          rowKey={(w) => w.id}
          onOpen={(w) => setOpen(w.id)}
          selected={open}
          loading={list.isPending}
          empty={
            <Empty icon={<WebhookIcon size={20} />} title="No webhooks yet">
              <p>A webhook sends alerts and changes of the graph to an address.</p>
              <CodeBlock
                label="Command"
                code={`livegraph webhooks create NAME https://… --event alert.firing --workspace ${id}`}
              />
            </Empty>
          }
        />
      </Panel>
      {webhook && <WebhookDetails workspace={id} webhook={webhook} onClose={() => setOpen(null)} />}
    </div>
  )
}

const DELIVERY_COLUMNS: readonly Column<Delivery>[] = [
  { id: 'event', head: 'Event', primary: true, cell: (d) => <code>{d.eventType}</code> },
  { id: 'created', head: 'Queued', cell: (d) => <Time at={d.createdAt} /> },
  { id: 'attempts', head: 'Attempts', numeric: true, cell: (d) => d.attempts },
  {
    id: 'state',
    head: 'State',
    cell: (d) => (
      <div className="alerts-name">
        <Badge tone={DELIVERY_TONES[d.state]} dot>
          {d.state}
        </Badge>
        {d.lastError && d.state !== 'delivered' && <span className="muted">{d.lastError}</span>}
      </div>
    ),
  },
]

function WebhookDetails({
  workspace,
  webhook,
  onClose,
}: {
  workspace: string
  webhook: Webhook
  onClose: () => void
}) {
  const [state, setState] = useState('')
  const [offset, setOffset] = useState(0)
  const toast = useToast()
  const queries = useQueryClient()
  const path = `/webhooks/${webhook.id}`
  const list = useList<Delivery>(workspace, `${path}/deliveries`, { state, offset })
  const send = useMutation({
    mutationFn: (action: string) => api.post<unknown>(path + action, { workspace }),
    onSuccess: () => {
      toast.ok('The event is queued')
      void queries.invalidateQueries({ queryKey: keyOf(workspace) })
    },
  })
  const columns: readonly Column<Delivery>[] = [
    ...DELIVERY_COLUMNS,
    {
      id: 'again',
      head: '',
      label: 'Actions',
      narrow: true,
      cell: (d) => (
        <Button
          size="s"
          icon={<RotateCcw size={14} />}
          disabled={!webhook.enabled || send.isPending}
          onClick={() => send.mutate(`/deliveries/${d.id}/redeliver`)}
        >
          Send again
        </Button>
      ),
    },
  ]
  return (
    <Dialog
      open
      side
      size="l"
      onClose={onClose}
      title={<Name text={webhook.name} max={200} />}
      footer={
        <Button
          variant="primary"
          icon={<Send size={14} />}
          disabled={!webhook.enabled || send.isPending}
          onClick={() => send.mutate('/test')}
        >
          Send a test
        </Button>
      }
    >
      <div className="stack">
        {webhook.disabledReason && (
          <Notice tone="warn" title="Disabled">
            <p>{webhook.disabledReason}</p>
          </Notice>
        )}
        {webhook.dropped > 0 && (
          <Notice tone="warn" title={`${plural(webhook.dropped, 'event was', 'events were')} not queued`}>
            <p>Too many deliveries were pending, or an event was too large.</p>
          </Notice>
        )}
        <Facts
          items={[
            ['Address', <Copyable key="url" text={webhook.url} />],
            ['Events', webhook.events.join(', ')],
            ['Created', <Time key="created" at={webhook.createdAt} />],
          ]}
        />
        {send.error && <ErrorNotice error={send.error} />}
        <div className="alerts-filter">
          <Field label="Deliveries">
            <Select
              value={state}
              onChange={(e) => {
                setState(e.target.value)
                setOffset(0)
              }}
              options={[
                { value: '', label: 'All' },
                { value: 'failed', label: 'Failed' },
                { value: 'pending', label: 'Pending' },
                { value: 'delivered', label: 'Delivered' },
              ]}
            />
          </Field>
        </div>
        {list.error && !list.data ? (
          <ErrorNotice error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Table
            label="Deliveries"
            columns={columns}
            rows={list.data?.data}
            rowKey={(d) => d.id}
            loading={list.isPending}
            stale={list.isPlaceholderData}
            empty={<p className="muted">No deliveries.</p>}
          />
        )}
        {list.data && list.data.meta.total > PAGE && (
          <Pager meta={list.data.meta} onOffset={setOffset} what="deliveries" />
        )}
      </div>
    </Dialog>
  )
}
