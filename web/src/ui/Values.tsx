import { useSyncExternalStore, type ReactNode } from 'react'

import { ago, bytes, compact, duration, num, stamp, visible } from './format'

// One clock for all relative times: it ticks each second while the page is visible.
const listeners = new Set<() => void>()
let now = Date.now()
let timer: number | undefined

function listen(listener: () => void): () => void {
  listeners.add(listener)
  timer ??= window.setInterval(() => {
    if (document.hidden) return
    now = Date.now()
    for (const item of listeners) item()
  }, 1000)
  return () => {
    listeners.delete(listener)
    if (listeners.size > 0) return
    window.clearInterval(timer)
    timer = undefined
  }
}

/** Returns the time in milliseconds, updated each second. */
export function useNow(): number {
  return useSyncExternalStore(listen, () =>
    timer === undefined ? (now = Math.floor(Date.now() / 1000) * 1000) : now,
  )
}

/** A time: relative, or as date and time; the other form is its tooltip. */
export function Time({
  at,
  absolute,
  none = '–',
}: {
  at: string | null | undefined
  absolute?: boolean
  none?: ReactNode
}) {
  if (!at) return <span className="muted">{none}</span>
  return absolute ? <AbsoluteTime at={at} /> : <RelativeTime at={at} />
}

function AbsoluteTime({ at }: { at: string }) {
  return (
    <time dateTime={at} title={at} className="nowrap">
      {stamp(new Date(at))}
    </time>
  )
}

function RelativeTime({ at }: { at: string }) {
  const current = useNow()
  return (
    <time dateTime={at} title={`${stamp(new Date(at))} (${at})`} className="nowrap">
      {ago(new Date(at), new Date(current))}
    </time>
  )
}

/** A duration in milliseconds. */
export const Duration = ({ ms }: { ms: number | null | undefined }) => (
  <span className="nowrap">{duration(ms)}</span>
)

export const Bytes = ({ n }: { n: number | null | undefined }) => (
  <span className="nowrap" title={n == null ? undefined : `${num(n)} bytes`}>
    {bytes(n)}
  </span>
)

/** A number: complete, or about three digits of it with the full number as the tooltip. */
export const Num = ({ n, short }: { n: number | null | undefined; short?: boolean }) => (
  <span className="nowrap" title={short && n != null ? num(n) : undefined}>
    {short ? compact(n) : num(n)}
  </span>
)

/**
 * A user-defined text: a name, a tag, a reason. It is one line, truncated if necessary, with isolated text direction
 * and escaped invisible characters. Always use it (or `visible`) for such texts.
 */
export function Name({
  text,
  max,
  strong,
}: {
  text: string | null | undefined
  max?: number
  strong?: boolean
}) {
  if (text == null || text === '') return <span className="muted">–</span>
  const shown = visible(text, max)
  return (
    <bdi
      className={strong ? 'name name-strong' : 'name'}
      dir="auto"
      title={shown.length > 24 ? shown : undefined}
    >
      {shown}
    </bdi>
  )
}

/** A list of names and values. */
export function Facts({
  items,
}: {
  items: readonly (readonly [label: string, value: ReactNode] | null | false)[]
}) {
  return (
    <dl className="facts">
      {items.map(
        (item) =>
          item && (
            <div key={item[0]}>
              <dt>{item[0]}</dt>
              <dd>{item[1]}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

/** The usage of a limit; `max` is null if there is none. */
export function Meter({
  label,
  value,
  max,
  text,
}: {
  label: string
  value: number
  max: number | null
  text?: ReactNode
}) {
  const share = max ? Math.min(value / max, 1) : 0
  const tone = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'accent'
  return (
    <div className="meter">
      <div className="meter-line">
        <span className="muted">{label}</span>
        <span>
          {text ?? (max === null ? `${compact(value)} of unlimited` : `${num(value)} of ${num(max)}`)}
        </span>
      </div>
      {max !== null && (
        <div
          className="meter-track"
          role="meter"
          aria-label={label}
          aria-valuenow={value}
          aria-valuemin={0}
          aria-valuemax={max}
        >
          <div className={`meter-fill tone-${tone}`} style={{ width: `${share * 100}%` }} />
        </div>
      )}
    </div>
  )
}

/** A progress bar; `value` is null if the progress is unknown. */
export function Progress({ label, value, max }: { label: string; value: number | null; max: number }) {
  const share = value === null || max <= 0 ? null : Math.min(value / max, 1)
  return (
    <div
      className="meter-track progress"
      role="progressbar"
      aria-label={label}
      aria-valuenow={share === null ? undefined : Math.round(share * 100)}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div
        className={share === null ? 'meter-fill progress-unknown' : 'meter-fill'}
        style={{ width: share === null ? undefined : `${share * 100}%` }}
      />
    </div>
  )
}
