// Whether somebody is at the page: what it asks by itself must not keep a session alive.

/** Milliseconds after the last touch from which requests count as the page's own. */
const ATTENDED = 60_000

let touched = Date.now()

if (typeof window !== 'undefined') {
  const touch = () => {
    touched = Date.now()
  }
  for (const kind of ['pointerdown', 'pointermove', 'keydown', 'wheel', 'focus'])
    window.addEventListener(kind, touch, { capture: true, passive: true })
}

/** Whether nobody has touched the page for a minute. */
export function unattended(now: number = Date.now()): boolean {
  return now - touched > ATTENDED
}
