import type { EntityType } from '../model/types'
import { ENTITY_LABELS } from '../model/descriptions'
import { TYPE_TOKENS } from '../view/palette'
import { polygonPoints } from '../view/shapes'

/** The shape and colour of an entity type. With `named`, its name is read aloud. */
export function TypeIcon({ type, named, size = 14 }: { type: EntityType; named?: boolean; size?: number }) {
  const middle = { x: 10, y: type === 'actor' ? 11.5 : 10 }
  const points = polygonPoints(type, middle, 6)
  const style = { fill: `var(${TYPE_TOKENS[type]})` }
  return (
    <svg
      className="graph-mark"
      width={size}
      height={size}
      viewBox="0 0 20 20"
      {...(named ? { role: 'img', 'aria-label': ENTITY_LABELS[type] } : { 'aria-hidden': true })}
    >
      {points ? <polygon points={points} style={style} /> : <circle cx={10} cy={10} r={6.5} style={style} />}
    </svg>
  )
}
