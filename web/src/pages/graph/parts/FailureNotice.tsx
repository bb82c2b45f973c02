import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

import { Copyable } from '@/ui'

import { obstacleText, type Failure } from '../model/failures'

export interface FailureNoticeProps {
  failure: Failure
  nameOf?: (id: string) => string | null
  /** What can be done about it. */
  actions?: ReactNode
  children?: ReactNode
}

/** Obstacles that are named one by one. */
const MOST_OBSTACLES = 12

/** Why a command was refused, in words, and what to do. */
export function FailureNotice({ failure, nameOf = () => null, actions, children }: FailureNoticeProps) {
  const { obstacles, commandId, requestId } = failure
  return (
    <div className="notice notice-bad graph-failure" role="alert">
      <CircleAlert size={18} aria-hidden="true" />
      <div className="notice-text">
        <b>{failure.title}</b>
        <p>{failure.text}</p>
        {obstacles.length > 0 && (
          <ul className="graph-obstacles">
            {obstacles.slice(0, MOST_OBSTACLES).map((one) => (
              <li key={`${one.kind} ${one.id} ${one.field ?? ''}`}>{obstacleText(one, nameOf)}</li>
            ))}
            {obstacles.length > MOST_OBSTACLES && <li>and {obstacles.length - MOST_OBSTACLES} more</li>}
          </ul>
        )}
        {commandId && (
          <p>
            Command <Copyable text={commandId} label="Copy the command's id" />
          </p>
        )}
        {children}
        {requestId && <p className="notice-id">Request {requestId}</p>}
        {actions && <div className="row graph-failure-actions">{actions}</div>}
      </div>
    </div>
  )
}
