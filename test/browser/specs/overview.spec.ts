import { call, expect, open, seed, test } from '../support.ts'

test('updates figures and charts as points are ingested', async ({ page }) => {
  await open(page, '')
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  const lead = page.getByText(/^Livegraph .*, up for /)
  const figure = page.locator('.overview-figure').filter({ hasText: 'Points accepted' })
  const chart = page.getByRole('img', { name: /^Points/ }).first()
  const before = { lead: await lead.innerText(), chart: await chart.getAttribute('aria-label') }
  const { plant } = seed()
  // More points than the demo sends, so that the figure changes.
  const now = Date.now()
  await call(plant, 'POST', '/api/live-data/ingest', {
    sourceId: plant.source,
    metric: 'burst',
    points: Array.from({ length: 50_000 }, (_, i) => ({ timestamp: now - i, value: i })),
  })
  await expect(figure).toContainText(/\d(\.\d+)?k/)
  await expect.poll(() => lead.innerText()).not.toBe(before.lead)
  await expect.poll(() => chart.getAttribute('aria-label')).not.toBe(before.chart)
  await expect(page.getByRole('heading', { name: 'Engines' })).toBeVisible()
  for (const engine of ['ClickHouse', 'Kafka', 'Milvus', 'Postgres', 'Redis'])
    await expect(page.getByText(engine, { exact: true })).toBeVisible()
  const consumers = page.locator('.panel').filter({ has: page.getByRole('heading', { name: 'Consumers' }) })
  for (const [topic, group] of [
    ['points', 'livegraph-points'],
    ['graph.commands', 'livegraph-commands'],
    ['graph.events', 'livegraph-lexical'],
    ['graph.events', 'livegraph-embeddings'],
    ['audit', 'livegraph-audit'],
  ] as const) {
    const row = consumers.getByRole('listitem').filter({ hasText: group })
    await expect(row).toContainText(topic)
    await expect(row).toContainText(/caught up|\d.* records?/)
  }
})

test('finds pages and actions in the command palette and keeps the theme after a reload', async ({
  page,
}) => {
  await open(page, '')
  await expect(page.getByText(/up for/)).toBeVisible()
  const find = async (text: string) => {
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('combobox', { name: 'Find a page or an action' })).toBeFocused()
    await page.keyboard.type(text)
    await page.keyboard.press('Enter')
  }
  await find('replay')
  await expect(page.getByRole('heading', { level: 1, name: 'Pipeline' })).toBeFocused()
  for (const theme of ['dark', 'light']) {
    await find(`${theme} theme`)
    const scheme = () => page.evaluate(() => getComputedStyle(document.documentElement).colorScheme)
    await expect.poll(scheme).toBe(theme)
    await page.reload()
    await expect.poll(scheme).toBe(theme)
    // The page handles keys once it is rendered.
    await expect(page.getByRole('heading', { level: 1, name: 'Pipeline' })).toBeVisible()
  }
  await page.goto('/admin/no/such/page')
  await expect(page.getByText('This page does not exist')).toBeVisible()
})

test('shows the lag as a duration and not in records', async ({ page }) => {
  await open(page, '')
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  const figure = page.locator('.overview-figure').filter({ has: page.getByText('Lag', { exact: true }) })
  await expect(figure).toContainText(/\d (s|ms|min)/)
  const chart = page.getByRole('img', { name: /^Lag in the last ten minutes/ })
  await expect(chart).toHaveAttribute('aria-label', /: [\d.]+ (s|ms|min|h)/)
  await expect(page.locator('.panel').filter({ has: chart })).not.toContainText('records')
})
