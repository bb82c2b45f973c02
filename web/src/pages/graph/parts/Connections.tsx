// The connections of a node and the form to expand it.

import { useQuery } from '@tanstack/react-query'
import { ArrowDownLeft, ArrowUpRight, Expand } from 'lucide-react'
import { useState } from 'react'

import { Badge, Button, ErrorNotice, num, plural, Segmented, Select, Skeleton, visible } from '@/ui'

import { NEIGHBORS_PER_PAGE } from '../data/explorer'
import { DEFAULT_OPTIONS, type ExpandOptions, type CanvasNode } from '../model/canvas'
import { groupsOf, relationsOf, type EdgeGroup } from '../model/groups'
import type { Direction } from '../model/types'
import { expansionText } from '../model/descriptions'
import { resourceKey, useShared } from './context'

const DEPTHS = ['1', '2', '3'] as const
/** The number of edges from which the relations are determined. */
const SAMPLE_SIZE = 100

export function Connections({
  shown,
  busy,
  onExpand,
}: {
  shown: CanvasNode
  busy: boolean
  onExpand: (options: ExpandOptions, more: boolean) => void
}) {
  const { workspace, source } = useShared()
  const { id } = shown.node
  const around = useQuery({
    queryKey: [...resourceKey(workspace, id), 'edges'],
    queryFn: ({ signal }) => source.edgesOf(id, DEFAULT_OPTIONS, SAMPLE_SIZE, signal),
  })
  if (around.error) return <ErrorNotice error={around.error} compact onRetry={() => void around.refetch()} />
  if (!around.data) return <Skeleton lines={3} />
  const { data, meta } = around.data
  if (meta.total === 0) return <p className="muted">No edges. Connect the node with another one.</p>
  const groups = groupsOf(id, data)
  return (
    <div className="stack graph-connections">
      <p>
        <b>{plural(meta.total, 'edge')}</b>
        {meta.total > data.length && <span className="muted">, of the newest {num(data.length)}:</span>}
      </p>
      <ul className="graph-groups">
        {groups.slice(0, 12).map((group) => (
          <GroupLine key={`${group.out ? '>' : '<'}${group.relationType}`} group={group} />
        ))}
        {groups.length > 12 && <li className="muted">and {plural(groups.length - 12, 'more relation')}</li>}
      </ul>
      <ExpandForm key={id} shown={shown} groups={groups} busy={busy} onExpand={onExpand} />
    </div>
  )
}

function GroupLine({ group }: { group: EdgeGroup }) {
  return (
    <li>
      {group.out ? (
        <ArrowUpRight size={14} aria-label="outgoing" />
      ) : (
        <ArrowDownLeft size={14} aria-label="incoming" />
      )}
      <bdi className="name">{visible(group.relationType, 80)}</bdi>
      <span className="graph-line-count">{num(group.count)}</span>
    </li>
  )
}

interface ExpandFormProps {
  shown: CanvasNode
  groups: readonly EdgeGroup[]
  busy: boolean
  onExpand: (options: ExpandOptions, more: boolean) => void
}

function ExpandForm({ shown, groups, busy, onExpand }: ExpandFormProps) {
  const [direction, setDirection] = useState<Direction>('both')
  const [depth, setDepth] = useState<ExpandOptions['depth']>(1)
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set())
  const relations = relationsOf(groups, direction)
  const relationTypes = relations.filter((type) => chosen.has(type))
  const toggle = (type: string) => {
    const next = new Set(chosen)
    if (!next.delete(type)) next.add(type)
    setChosen(next)
  }
  const { expansion } = shown
  const text = expansionText(expansion)
  return (
    <div className="graph-expand">
      <div className="row">
        <Segmented
          label="Direction"
          value={direction}
          onChange={setDirection}
          options={[
            { value: 'both', label: 'Both' },
            { value: 'out', label: 'Out', title: 'From this node' },
            { value: 'in', label: 'In', title: 'To this node' },
          ]}
        />
        <Select
          aria-label="Number of edges"
          value={String(depth)}
          onChange={(event) => setDepth(Number(event.target.value) as ExpandOptions['depth'])}
          options={DEPTHS.map((value) => ({
            value,
            label: `${plural(Number(value), 'edge')} far`,
          }))}
        />
      </div>
      {relations.length > 1 && (
        <div className="row" role="group" aria-label="Relations to follow; if none is selected, all">
          {relations.slice(0, 16).map((type) => (
            <button
              key={type}
              type="button"
              className="graph-chip"
              aria-pressed={chosen.has(type)}
              onClick={() => toggle(type)}
            >
              {visible(type, 40)}
            </button>
          ))}
        </div>
      )}
      <div className="row">
        <Button
          variant="primary"
          size="s"
          icon={<Expand size={14} />}
          busy={busy}
          onClick={() => onExpand({ direction, depth, relationTypes }, false)}
        >
          Expand
        </Button>
        {expansion?.cursor && (
          <Button size="s" busy={busy} onClick={() => onExpand(expansion.options, true)}>
            Next {NEIGHBORS_PER_PAGE}
          </Button>
        )}
        {shown.unseen > 0 && <Badge tone="accent">{plural(shown.unseen, 'new edge')} not shown</Badge>}
      </div>
      {text && (
        <p className="muted" role="status">
          {text}
          {expansion?.truncated && '. Filter by direction or relation to see others.'}
        </p>
      )}
    </div>
  )
}
