import { CircleAlert } from 'lucide-react'
import type { ReactNode } from 'react'

import { Copyable } from '@/ui'

import { conflictText, type Failure } from '../model/failures'

export interface FailureNoticeProps {
  failure: Failure
  nameOf?: (id: string) => string | null
  /** Buttons to resolve it. */
  actions?: ReactNode
  children?: ReactNode
}

/** The maximum number of listed conflicts. */
const MAX_CONFLICTS = 12

/** Shows why a command was refused and what to do. */
export function FailureNotice({ failure, nameOf = () => null, actions, children }: FailureNoticeProps) {
  const { conflicts, commandId, requestId } = failure
  return (
    <div className="notice notice-bad graph-failure" role="alert">
      <CircleAlert size={18} aria-hidden="true" />
      <div className="notice-text">
        <b>{failure.title}</b>
        <p>{failure.text}</p>
        {conflicts.length > 0 && (
          <ul className="graph-obstacles">
            {conflicts.slice(0, MAX_CONFLICTS).map((item) => (
              <li key={`${item.kind} ${item.id} ${item.field ?? ''}`}>{conflictText(item, nameOf)}</li>
            ))}
            {conflicts.length > MAX_CONFLICTS && <li>and {conflicts.length - MAX_CONFLICTS} more</li>}
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
