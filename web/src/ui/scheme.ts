// The colour scheme and the theme, for canvases, which CSS cannot style.

import { useSyncExternalStore } from 'react'

export type Theme = 'system' | 'light' | 'dark'

const KEY = 'livegraph.theme'
const system = () => window.matchMedia('(prefers-color-scheme: dark)')

/** Returns the selected theme. */
export function chosenTheme(): Theme {
  const chosen = document.documentElement.dataset['theme']
  return chosen === 'light' || chosen === 'dark' ? chosen : 'system'
}

/** Selects a theme and stores it in this browser. */
export function chooseTheme(theme: Theme): void {
  const root = document.documentElement
  if (theme === 'system') delete root.dataset['theme']
  else root.dataset['theme'] = theme
  try {
    // eslint-disable-next-line no-restricted-globals -- the one thing that is kept
    const storage = localStorage
    if (theme === 'system') storage.removeItem(KEY)
    else storage.setItem(KEY, theme)
  } catch {
    // Storage is disabled: the theme applies until the page is closed.
  }
}

function listen(changed: () => void): () => void {
  const watcher = new MutationObserver(changed)
  watcher.observe(document.documentElement, { attributeFilter: ['data-theme'] })
  const media = system()
  media.addEventListener('change', changed)
  return () => {
    watcher.disconnect()
    media.removeEventListener('change', changed)
  }
}

/** Returns the selected theme. */
export const useTheme = (): Theme => useSyncExternalStore(listen, chosenTheme)

/** Returns the current colour scheme. A canvas that uses `color` must draw again when it changes. */
export function useScheme(): 'light' | 'dark' {
  return useSyncExternalStore(listen, () => {
    const theme = chosenTheme()
    if (theme !== 'system') return theme
    return system().matches ? 'dark' : 'light'
  })
}

/** Returns the current value of a colour token such as `--accent`: `rgb(…)`. */
export function color(token: string, within: Element = document.documentElement): string {
  const probe = document.createElement('span')
  probe.style.color = `var(${token})`
  probe.hidden = true
  within.append(probe)
  const value = getComputedStyle(probe).color
  probe.remove()
  return value
}

/** Returns a colour of `color` with an opacity. */
export function faded(rgb: string, opacity: number): string {
  const parts = /^rgba?\(([\d.]+)[ ,]+([\d.]+)[ ,]+([\d.]+)/.exec(rgb)
  return parts ? `rgba(${parts[1] ?? 0}, ${parts[2] ?? 0}, ${parts[3] ?? 0}, ${opacity})` : rgb
}

/** Returns the colour token of series number `i`, from 0; they repeat. */
export const seriesToken = (i: number) => `--series-${(i % 8) + 1}`
