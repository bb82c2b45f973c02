// Shared by the specs: the environment, the detection of page errors, and API requests.

import { mkdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'

import { expect, type Locator, type Page, test as base } from '@playwright/test'

function requiredEnv(name: string): string {
  const value = process.env[name]
  if (!value) throw new Error(`${name} is not set: run go test ./test/browser`)
  return value
}

export const URL_OF = requiredEnv('LIVEGRAPH_URL')
export const CONTROL = requiredEnv('LIVEGRAPH_CONTROL')
export const IMAGES = requiredEnv('LIVEGRAPH_IMAGES')
export const SESSION = join(requiredEnv('LIVEGRAPH_STATE'), 'session.json')
export const SEED = join(requiredEnv('LIVEGRAPH_STATE'), 'seed.json')

export const FIRST = JSON.parse(requiredEnv('LIVEGRAPH_FIRST_RUN')) as Record<
  'WorkspaceID' | 'AdminKey' | 'AdminUser' | 'AdminPassword',
  string
>

/** A workspace and an admin key of it. */
export interface Tenant {
  workspace: string
  key: string
}

export interface Seed {
  plant: Tenant & { source: string; nodes: Record<string, string> }
  nasty: Tenant & { source: string; node: string; edge: string; document: string }
  empty: { workspace: string }
}

export const seed = (): Seed => JSON.parse(readFileSync(SEED, 'utf8')) as Seed

/** Part of every text in workspace `nasty`. */
export const NASTY = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}}`

type Action = 'stop' | 'start' | 'create-dead-letters' | 'create-many' | 'delete-many' | 'start-tls'

/** Requests an action from the Go test. */
export async function control<T = null>(action: Action, body: unknown = {}): Promise<T> {
  const answer = await fetch(`${CONTROL}/${action}`, { method: 'POST', body: JSON.stringify(body) })
  if (!answer.ok) throw new Error(`${action}: ${answer.status}`)
  return (await answer.json()) as T
}

/** Sends a request to the API with a key and returns `data` of the response. */
export async function call<T>(of: Tenant, method: string, path: string, body?: unknown): Promise<T> {
  const answer = await fetch(URL_OF + path, {
    method,
    headers: {
      Authorization: `Bearer ${of.key}`,
      'X-Workspace-Id': of.workspace,
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`)
  return text === '' ? (undefined as T) : ((JSON.parse(text) as { data: T }).data as T)
}

/** Returns the status of a GET with a key. */
export async function statusOf(of: Tenant, path: string): Promise<number> {
  const answer = await fetch(URL_OF + path, {
    headers: { Authorization: `Bearer ${of.key}`, 'X-Workspace-Id': of.workspace },
  })
  await answer.body?.cancel()
  return answer.status
}

/** Records errors, dialogs and unexpected requests of a page. */
export class Watch {
  readonly found: string[] = []
  private readonly allowed: RegExp[] = [
    // The browser logs every error status. A page without a session requests the session.
    /status of 401 .* \/admin\/api\/session$/,
  ]

  constructor(page: Page) {
    page.on('dialog', (dialog) => {
      this.found.push(`dialog: ${dialog.message()}`)
      void dialog.dismiss()
    })
    page.on('pageerror', (error) => this.found.push(`error: ${error.stack ?? error.message}`))
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning')
        this.found.push(`${message.type()}: ${message.text()} ${new URL(message.location().url || URL_OF).pathname}`)
    })
    page.on('request', (request) => {
      const url = new URL(request.url())
      const ours = url.origin === URL_OF && (url.pathname === '/admin' || url.pathname.startsWith('/admin/'))
      if (!ours && url.protocol !== 'blob:') this.found.push(`request: ${request.method()} ${request.url()}`)
      if (ours && request.resourceType() === 'image' && !url.pathname.startsWith('/admin/assets/'))
        this.found.push(`image: ${request.url()}`)
    })
  }

  /** Allows matching errors in this test. */
  allow(...what: RegExp[]): void {
    this.allowed.push(...what)
  }

  check(): void {
    const found = this.found.filter((one) => !this.allowed.some((allowed) => allowed.test(one)))
    expect(found, 'what the page did that it should not').toEqual([])
  }
}

/** Watches `page`. The test fails at its end if anything was recorded. */
export const test = base.extend<{ watch: Watch }>({
  watch: [
    async ({ page }, use) => {
      const watch = new Watch(page)
      await use(watch)
      watch.check()
    },
    { auto: true },
  ],
})

export { expect }

/** Every page, and an element that exists only after its content is loaded. */
export const PAGES: readonly {
  name: string
  path: string
  heading: string
  scoped?: boolean
  shows: (page: Page) => Locator
}[] = [
  { name: 'overview', path: '', heading: 'Overview', shows: (p) => p.getByRole('img', { name: /^Points/ }).first() },
  { name: 'pipeline', path: 'pipeline', heading: 'Pipeline', shows: (p) => row(p, 'graph.commands') },
  {
    name: 'dead-letters',
    path: 'pipeline/dead-letters',
    heading: 'Pipeline',
    shows: (p) => row(p, 'refused by the store').first(),
  },
  { name: 'replays', path: 'pipeline/replays', heading: 'Pipeline', shows: (p) => p.getByText(/A replay reads a part/) },
  { name: 'sources', path: 'sources', heading: 'Sources', scoped: true, shows: (p) => row(p, '/cpu') },
  {
    name: 'explorer',
    path: 'sources/explore',
    heading: 'Data explorer',
    scoped: true,
    shows: (p) => p.getByText(/\d lines?, /),
  },
  { name: 'graph', path: 'graph', heading: 'Graph', scoped: true, shows: (p) => p.getByText(/\d\d nodes, [1-9]\d* edges/) },
  {
    name: 'documents',
    path: 'documents',
    heading: 'Documents',
    scoped: true,
    shows: (p) => row(p, 'handbook/kitchen.md'),
  },
  {
    name: 'alerts',
    path: 'alerts',
    heading: 'Alerts',
    scoped: true,
    shows: (p) => p.getByText('No active alert'),
  },
  {
    name: 'search',
    path: 'search?q=what+fills+the+disk',
    heading: 'Search',
    scoped: true,
    shows: (p) => p.getByText('Path over edges').first(),
  },
  { name: 'indexes', path: 'indexes', heading: 'Indexes', shows: (p) => row(p, 'default') },
  { name: 'workspaces', path: 'workspaces', heading: 'Workspaces', shows: (p) => row(p, 'default') },
  { name: 'keys', path: 'keys', heading: 'Keys', shows: (p) => row(p, 'first run') },
  { name: 'audit', path: 'audit', heading: 'Audit log', shows: (p) => row(p, '/api/live-data/ingest').first() },
  {
    name: 'operators',
    path: 'audit?show=operators',
    heading: 'Audit log',
    shows: (p) => row(p, FIRST.AdminUser).first(),
  },
  { name: 'account', path: 'account', heading: 'Account', shows: (p) => row(p, FIRST.AdminUser) },
]

/** Returns the table row that contains a text. */
export const row = (page: Page | Locator, text: string | RegExp): Locator =>
  page.getByRole('row').filter({ hasText: text })

/** Opens a page in a workspace. */
export async function open(page: Page, path: string, workspace?: string): Promise<void> {
  const url = new URL(path, `${URL_OF}/admin/`)
  if (workspace) url.searchParams.set('workspace', workspace)
  await page.goto(url.href)
}

/** Waits until the page's heading is visible and nothing is loading. */
export async function waitForPage(page: Page, heading: string): Promise<void> {
  await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
  await expect(page.locator('.skeleton')).toHaveCount(0)
}

/** Fills in the form of the login page. */
export async function logIn(page: Page, name: string, password: string): Promise<void> {
  await page.getByLabel('Name').fill(name)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

/** Returns by how many pixels the page is wider than its window. */
export const overflowWidth = (page: Page): Promise<number> =>
  page.evaluate(() => {
    const { documentElement: root } = document
    const main = document.querySelector('main')
    return Math.max(root.scrollWidth - root.clientWidth, main ? main.scrollWidth - main.clientWidth : 0)
  })

/** Returns the tables that scroll horizontally. */
export const clippedTables = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('.table-box')]
      .filter((box) => box.scrollWidth > box.clientWidth)
      .map((box) => `${box.querySelector('table')?.ariaLabel ?? 'a table'}: ${box.scrollWidth} in ${box.clientWidth}`),
  )

/**
 * Counts the pixels of a chart that have a CSS colour, in a range of its width. Similar colours count as well, because
 * overlaps and the edges of lines are blended.
 */
export const countPixels = (chart: Locator, colour: string, from = 0, to = 1): Promise<number> =>
  chart.locator('canvas').evaluate(
    (canvas: HTMLCanvasElement, { colour, from, to }) => {
      // Reads a copy, because reading the page's canvas would change how it is drawn.
      const copy = document.createElement('canvas')
      copy.width = canvas.width
      copy.height = canvas.height
      const pen = copy.getContext('2d', { willReadFrequently: true })
      if (!pen) throw new Error('there is no canvas')
      pen.fillStyle = colour
      pen.fillRect(0, 0, 1, 1)
      const [r = 0, g = 0, b = 0] = pen.getImageData(0, 0, 1, 1).data
      pen.clearRect(0, 0, 1, 1)
      pen.drawImage(canvas, 0, 0)
      const left = Math.floor(canvas.width * from)
      const { data } = pen.getImageData(left, 0, Math.ceil(canvas.width * (to - from)), canvas.height)
      let count = 0
      for (let i = 0; i < data.length; i += 4) {
        const apart = Math.hypot((data[i] ?? 0) - r, (data[i + 1] ?? 0) - g, (data[i + 2] ?? 0) - b)
        if ((data[i + 3] ?? 0) > 100 && apart < 40) count++
      }
      return count
    },
    { colour, from, to },
  )

/** Returns the colour of a line in the legend. */
export const colourOf = (figure: Locator, name: string): Promise<string> =>
  figure
    .locator('.chart-key')
    .filter({ hasText: name })
    .locator('.chart-swatch')
    .evaluate((swatch) => getComputedStyle(swatch).backgroundColor)

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Finding {
  id: string
  impact: string
  nodes: { target: string[]; failureSummary: string }[]
}

/** Returns serious and critical violations found by axe, after transitions have ended. */
export async function faults(page: Page): Promise<string[]> {
  await page.evaluate(() =>
    Promise.allSettled(
      document
        .getAnimations()
        .filter((one) => one.effect?.getComputedTiming().endTime !== Infinity)
        .map((one) => one.finished),
    ),
  )
  await page.evaluate(AXE)
  const violations = await page.evaluate(async () => {
    const { axe } = window as unknown as { axe: { run: (what: object) => Promise<{ violations: Finding[] }> } }
    return (await axe.run({ resultTypes: ['violations'] } as object)).violations
  })
  return violations
    .filter((one) => one.impact === 'serious' || one.impact === 'critical')
    .flatMap((one) => one.nodes.map((node) => `${one.id} (${one.impact}): ${node.target.join(' ')}: ${node.failureSummary}`))
}

/** Takes a screenshot. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(IMAGES, { recursive: true })
  // By default Playwright hides the caret with a style, which the content security policy forbids.
  await page.screenshot({ path: join(IMAGES, `${name}.png`), caret: 'initial' })
}
