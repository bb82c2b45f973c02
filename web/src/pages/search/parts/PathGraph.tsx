// The drawing of the path to a hit: the seed at the left, the hit at the right.

import { useNavigate } from 'react-router'

import { shortId, visible } from '@/ui'

import type { GraphNode } from '../../graph/model/types'
import { TYPE_TOKENS } from '../../graph/view/palette'
import { polygonPoints } from '../../graph/view/shapes'
import { shorten } from '../../graph/view/labels'
import type { HitPath, PathEdge, PathNode } from '../explain'

export interface PathGraphProps {
  path: HitPath
  names: ReadonlyMap<string, GraphNode>
  workspace: string
  /** The name of the hit. */
  hit: string
}

const COLUMN = 190
const ROW = 62
const MARGIN = { x: 74, y: 26 }
const R = 9

export function PathGraph({ path, names, workspace, hit }: PathGraphProps) {
  const navigate = useNavigate()
  const width = (path.columns - 1) * COLUMN + 2 * MARGIN.x
  const height = (path.rows - 1) * ROW + 2 * MARGIN.y + 16
  const nameOf = (id: string) => visible(names.get(id)?.name ?? shortId(id), 80)
  const at = (node: PathNode) => ({ x: MARGIN.x + node.column * COLUMN, y: MARGIN.y + node.row * ROW })
  const places = new Map(path.nodes.map((node) => [node.id, at(node)]))
  const ids = path.nodes.map((node) => node.id)
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
      {path.edges.some((edge) => !edge.direct) && (
        <p className="search-note">Dashed: another seed that contributed to the score.</p>
      )}
      <p className="sr-only">{pathText(path, nameOf)}</p>
      <div
        className="search-way-box"
        role="region"
        aria-label={`Path to ${visible(hit, 80)}`}
        // It scrolls sideways on a phone, so it must be focusable.
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex
        tabIndex={0}
      >
        <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} aria-hidden="true">
          {path.edges.map((edge, i) => (
            <PathEdgeLine key={i} edge={edge} from={places.get(edge.from)} to={places.get(edge.to)} />
          ))}
          {path.nodes.map((node) => (
            <PathNodeMark
              key={node.id}
              node={node}
              at={at(node)}
              of={names.get(node.id)}
              name={nameOf(node.id)}
            />
          ))}
        </svg>
      </div>
    </figure>
  )
}

interface NodePosition {
  x: number
  y: number
}

function PathNodeMark({
  node,
  at,
  of,
  name,
}: {
  node: PathNode
  at: NodePosition
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

function PathEdgeLine({
  edge,
  from,
  to,
}: {
  edge: PathEdge
  from: NodePosition | undefined
  to: NodePosition | undefined
}) {
  if (!from || !to) return null
  const gap = R + 7
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1
  const [ux, uy] = [(to.x - from.x) / length, (to.y - from.y) / length]
  const a = { x: from.x + ux * gap, y: from.y + uy * gap }
  const b = { x: to.x - ux * gap, y: to.y - uy * gap }
  const tip = edge.backwards ? a : b
  const turn = (Math.atan2(uy, ux) * 180) / Math.PI + (edge.backwards ? 180 : 0)
  // Paths of which only the ends are known meet at the hit, so their labels are closer to their start.
  const t = edge.direct ? 0.5 : 0.34
  const middle = { x: a.x + (b.x - a.x) * t, y: a.y + (b.y - a.y) * t }
  return (
    <g className={edge.direct ? 'search-way-line' : 'search-way-line search-way-unknown'}>
      <line x1={a.x} y1={a.y} x2={b.x} y2={b.y} />
      {edge.direct && (
        <path d="M0 0L-8 -4L-8 4Z" transform={`translate(${tip.x} ${tip.y}) rotate(${turn})`} />
      )}
      <text x={middle.x} y={middle.y - 7}>
        {shorten(visible(edge.label, 60), 22)}
        <title>{visible(edge.label)}</title>
      </text>
    </g>
  )
}

/** Describes the drawing as text. */
function pathText(path: HitPath, nameOf: (id: string) => string): string {
  const steps = path.edges.map(({ from, to, label, direct, backwards }) => {
    if (!direct) return `${label} of the score came from ${nameOf(from)}`
    const relation = visible(label, 60)
    return backwards
      ? `${nameOf(to)} ${relation} ${nameOf(from)}`
      : `${nameOf(from)} ${relation} ${nameOf(to)}`
  })
  return `${steps.join('; ')}.`
}
