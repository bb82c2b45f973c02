import { CircleAlert, RotateCw } from 'lucide-react'
import type { ReactNode } from 'react'

import { ApiError } from '@/api/client'

import { Button } from './Button'
import { cx, visible } from './format'

/** Returns the message of an error for the user, and what to do. */
export function explain(error: unknown): { title: string; advice: string; requestId: string | null } {
  if (!(error instanceof ApiError)) {
    return {
      title: 'This page has an error',
      advice: 'Reload it. If the error remains, see the browser console.',
      requestId: null,
    }
  }
  const { requestId } = error
  const said = visible(error.message, 300)
  const { field, reason, allowed } = error.details
  const values = allowed?.length
    ? `Allowed: ${allowed
        .slice(0, 12)
        .map((a) => visible(a, 60))
        .join(', ')}`
    : ''
  const about = [
    field && `${visible(field, 120)}${reason ? `: ${visible(reason, 300)}` : ''}`,
    !field && reason && visible(reason, 300),
    values,
  ]
    .filter(Boolean)
    .join('. ')
  const wait = error.retryAfter ? `Try again in ${error.retryAfter} s.` : 'Try again in a moment.'
  switch (true) {
    case error.outcomeUnknown:
      return {
        title: said,
        advice: [about, 'The change may have been made: check before you repeat it.']
          .filter(Boolean)
          .join(' '),
        requestId,
      }
    case error.status === 0:
      return {
        title: said,
        advice: 'Check that the server runs and this machine is online. The page retries automatically.',
        requestId,
      }
    case error.status === 401:
      return { title: 'Your session has ended', advice: 'Log in again.', requestId }
    case error.status === 403:
      return { title: said, advice: about || 'You do not have permission.', requestId }
    case error.status === 404:
      return { title: said, advice: 'It may have been deleted. Go back to the list.', requestId }
    case error.status === 409:
      return {
        title: said,
        advice: about || 'Somebody else changed it. Reload and try again.',
        requestId,
      }
    case error.status === 429:
      return { title: said, advice: wait, requestId }
    case error.status >= 500:
      return { title: said, advice: [about, wait].filter(Boolean).join(' '), requestId }
    // The message of an invalid field is often its name and the reason.
    case reason !== undefined && error.message === `${field ?? ''}: ${reason}`:
      return { title: said, advice: values, requestId }
    default:
      return { title: said, advice: about, requestId }
  }
}

/** Shows an error. `compact` is for forms and dialogs. */
export function ErrorNotice({
  error,
  onRetry,
  compact,
  children,
}: {
  error: unknown
  onRetry?: () => void
  compact?: boolean
  children?: ReactNode
}) {
  const { title, advice, requestId } = explain(error)
  return (
    <div className={cx('notice', 'notice-bad', compact && 'notice-compact')} role="alert">
      <CircleAlert size={18} aria-hidden="true" />
      <div className="notice-text">
        <b>{title}</b>
        {advice && <p>{advice}</p>}
        {children}
        {requestId && <p className="notice-id">Request {requestId}</p>}
      </div>
      {onRetry && (
        <Button size="s" icon={<RotateCw size={14} />} onClick={onRetry}>
          Try again
        </Button>
      )}
    </div>
  )
}

/** Returns the message of an error about one field of a form; undefined if it is about something else. */
export function fieldError(error: unknown, ...names: string[]): string | undefined {
  if (!(error instanceof ApiError) || !error.details.field || !names.includes(error.details.field))
    return undefined
  const { reason, allowed } = error.details
  const text = reason ?? error.message
  return visible(allowed?.length ? `${text}. Allowed: ${allowed.join(', ')}` : text, 300)
}
