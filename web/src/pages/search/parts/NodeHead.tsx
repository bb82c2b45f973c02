import { Network } from 'lucide-react'
import type { ReactNode } from 'react'
import { Link } from 'react-router'

import { ButtonLink, Name, visible } from '@/ui'

import { ENTITY_LABELS } from '../../graph/model/descriptions'
import type { EntityType } from '../../graph/model/types'
import { TypeIcon } from '../../graph/parts/TypeIcon'

/** The head of a result or a source: its number, and the node with links to the graph. */
export function NodeHead({
  workspace,
  id,
  name,
  entityType,
  number,
  heading: Heading,
}: {
  workspace: string
  id: string
  name: string
  entityType: EntityType
  number: ReactNode
  heading: 'h2' | 'h3'
}) {
  const to = `/graph?workspace=${encodeURIComponent(workspace)}&node=${encodeURIComponent(id)}`
  return (
    <header className="search-hit-head">
      {number}
      <TypeIcon type={entityType} named size={18} />
      <Heading>
        <Link to={to}>
          <Name text={name} strong />
        </Link>
      </Heading>
      <span className="search-type muted">{ENTITY_LABELS[entityType]}</span>
      <ButtonLink
        size="s"
        variant="ghost"
        icon={<Network size={14} />}
        to={to}
        aria-label={`Open ${visible(name, 80)} in the graph`}
      >
        Graph
      </ButtonLink>
    </header>
  )
}
