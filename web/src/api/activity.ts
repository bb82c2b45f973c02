// Reports whether the operator is active. Requests that the page sends by itself do not keep a session alive.

/** Milliseconds without input after which requests count as background requests. */
const IDLE_AFTER_MS = 60_000

let lastActivity = Date.now()

if (typeof window !== 'undefined') {
  const recordActivity = () => {
    lastActivity = Date.now()
  }
  for (const type of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'])
    window.addEventListener(type, recordActivity, { capture: true, passive: true })
}

/** Reports whether there was no input for a minute. */
export function isIdle(now: number = Date.now()): boolean {
  return now - lastActivity > IDLE_AFTER_MS
}
