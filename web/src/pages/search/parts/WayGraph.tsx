// The way by which a hit was reached, drawn: where the walk began at the left, the hit at the right.

import { useNavigate } from 'react-router'

import { shortId, visible } from '@/ui'

import type { GraphNode } from '../../graph/model/types'
import { TYPE_TOKENS } from '../../graph/view/palette'
import { polygonPoints } from '../../graph/view/shapes'
import { shorten } from '../../graph/view/labels'
import type { Way, WayEdge, WayNode } from '../explain'

export interface WayGraphProps {
  way: Way
  names: ReadonlyMap<string, GraphNode>
  workspace: string
  /** The hit's name. */
  hit: string
}

const COLUMN = 190
const ROW = 62
const MARGIN = { x: 74, y: 26 }
const R = 9

export function WayGraph({ way, names, workspace, hit }: WayGraphProps) {
  const navigate = useNavigate()
  const width = (way.columns - 1) * COLUMN + 2 * MARGIN.x
  const height = (way.rows - 1) * ROW + 2 * MARGIN.y + 16
  const nameOf = (id: string) => visible(names.get(id)?.name ?? shortId(id), 80)
  const at = (node: WayNode) => ({ x: MARGIN.x + node.column * COLUMN, y: MARGIN.y + node.row * ROW })
  const places = new Map(way.nodes.map((node) => [node.id, at(node)]))
  const ids = way.nodes.map((node) => node.id)
  const open = () => {
    const params = new URLSearchParams([['workspace', workspace], ...ids.map((id) => ['node', id])])
    void navigate(`/graph?${params.toString()}`)
  }
  return (
    <figure className="search-way">
      <figcaption className="field-label">
        Path over edges
        <button
          type="button"
          className="search-way-open"
          onClick={open}
          aria-label={`Path to ${visible(hit, 80)}: open in the graph`}
        >
          open in the graph
        </button>
      </figcaption>
      {way.edges.some((edge) => !edge.known) && (
        <p className="search-note">Dashed: another seed that contributed to the score.</p>
      )}
      <p className="sr-only">{wayText(way, nameOf)}</p>
      <div
        className="search-way-box"
        role="region"
        aria-label={`Path to ${visible(hit, 80)}`}
        // It scrolls sideways on a phone, so the keyboard has to reach it.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {way.edges.map((edge, i) => (
            <Line key={i} edge={edge} from={places.get(edge.from)} to={places.get(edge.to)} />
          ))}
          {way.nodes.map((node) => (
            <Station key={node.id} node={node} at={at(node)} of={names.get(node.id)} name={nameOf(node.id)} />
          ))}
        </svg>
      </div>
    </figure>
  )
}

interface Place {
  x: number
  y: number
}

function Station({
  node,
  at,
  of,
  name,
}: {
  node: WayNode
  at: Place
  of: GraphNode | undefined
  name: string
}) {
  const style = { fill: of ? `var(${TYPE_TOKENS[of.entityType]})` : 'var(--text-3)' }
  const points = polygonPoints(of?.entityType ?? 'object', at, R)
  return (
    <g>
      {node.role === 'hit' && <circle className="search-way-ring" cx={at.x} cy={at.y} r={R + 6} />}
      {points ? (
        <polygon points={points} style={style} />
      ) : (
        <circle cx={at.x} cy={at.y} r={R} style={style} />
      )}
      <text
        className={node.role === 'hit' ? 'search-way-name search-way-hit' : 'search-way-name'}
        x={at.x}
        y={at.y + R + 17}
      >
        {shorten(name, 22)}
        <title>{name}</title>
      </text>
    </g>
  )
}

function Line({ edge, from, to }: { edge: WayEdge; from: Place | undefined; to: Place | undefined }) {
  if (!from || !to) return null
  const gap = R + 7
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length]
  const a = { x: from.x + ux * gap, y: from.y + uy * gap }
  const b = { x: to.x - ux * gap, y: to.y - uy * gap }
  const tip = edge.backwards ? a : b
  const turn = (Math.atan2(uy, ux) * 180) / Math.PI + (edge.backwards ? 180 : 0)
  // Paths of which only the ends are known meet at the hit: their labels are nearer to their start.
  const t = edge.known ? 0.5 : 0.34
  const middle = { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t }
  return (
    <g className={edge.known ? 'search-way-line' : 'search-way-line search-way-unknown'}>
      <line x1={a.x} y1={a.y} x2={b.x} y2={b.y} />
      {edge.known && <path d="M0 0L-8 -4L-8 4Z" transform={`translate(${tip.x} ${tip.y}) rotate(${turn})`} />}
      <text x={middle.x} y={middle.y - 7}>
        {shorten(visible(edge.label, 60), 22)}
        <title>{visible(edge.label)}</title>
      </text>
    </g>
  )
}

/** The drawing in words. */
function wayText(way: Way, nameOf: (id: string) => string): string {
  const steps = way.edges.map(({ from, to, label, known, backwards }) => {
    if (!known) return `${label} of the score came from ${nameOf(from)}`
    const relation = visible(label, 60)
    return backwards
      ? `${nameOf(to)} ${relation} ${nameOf(from)}`
      : `${nameOf(from)} ${relation} ${nameOf(to)}`
  })
  return `${steps.join('; ')}.`
}
