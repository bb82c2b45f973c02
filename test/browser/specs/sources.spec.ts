import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import type { Locator } from '@playwright/test'

import { call, colourOf, countPixels, expect, open, row, seed, type Tenant, test } from '../support.ts'

const run = promisify(execFile)

test('updates the chart of a source as points arrive', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources', plant.workspace)
  await row(page, 'boiler').click()
  await expect(page.getByRole('heading', { level: 1, name: 'boiler' })).toBeVisible()
  await expect(page.getByText(/connected ·/)).toBeVisible()
  const chart = page.getByRole('img', { name: /^temperature/ })
  for (const value of [4711, 815]) {
    await call(plant, 'POST', '/api/live-data/ingest', {
      sourceId: plant.source,
      metric: 'temperature',
      points: [{ timestamp: Date.now(), value, tags: { sensor: 'in' } }],
    })
    await expect(chart).toHaveAttribute('aria-label', new RegExp(value === 4711 ? '4[,.]?71' : '815'))
  }
  const pixels = () =>
    chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => canvas.toDataURL('image/png'))
  await page.getByRole('button', { name: 'Pause' }).click()
  await expect(page.getByText('paused')).toBeVisible()
  const still = await pixels()
  await page.getByRole('button', { name: 'Resume' }).click()
  await expect.poll(pixels).not.toBe(still)
})

test('creates, updates and deletes a source', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources', plant.workspace)
  await page.getByRole('button', { name: 'New source' }).first().click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name').first().fill('chimney')
  await form.getByRole('button', { name: /^(Create|Make|Save)/ }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'chimney' })).toBeVisible()
  await expect(page.getByText('No points yet')).toBeVisible()
  await page.getByRole('button', { name: 'Edit' }).click()
  await page
    .getByRole('dialog')
    .getByLabel(/^Description/)
    .first()
    .fill('On the roof')
  await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('On the roof')).toBeVisible()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Delete the source…' }).click()
  const confirm = page.getByRole('dialog')
  const phrase = confirm.getByRole('textbox')
  if (await phrase.isVisible()) await phrase.fill('chimney')
  await confirm.getByRole('button', { name: /^Delete/ }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'Sources' })).toBeVisible()
  await expect(row(page, 'chimney')).toHaveCount(0)
})

test('shows the query of the explorer as a working curl command', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources/explore', plant.workspace)
  // The URL contains the selection, and a checkbox follows the URL.
  for (const name of ['boiler', 'temperature']) {
    await page.getByRole('checkbox', { name }).click()
    await expect(page.getByRole('checkbox', { name })).toBeChecked()
  }
  await page.getByRole('button', { name: 'max', exact: true }).click()
  await page.getByLabel('Interval', { exact: true }).selectOption('1m')
  await expect(page.getByText(/\d lines?, /)).toBeVisible()
  await page.getByRole('tab', { name: 'Table' }).click()
  await expect(page.getByRole('table').first()).toBeVisible()
  await page.getByRole('tab', { name: 'Command' }).click()
  const command = await page.getByRole('region').filter({ hasText: 'curl' }).innerText()
  expect(command).toContain('$LIVEGRAPH_API_KEY')
  expect(command).not.toMatch(/lg_(live|test)_/)
  const { stdout } = await run('bash', ['-c', command], {
    env: { PATH: process.env['PATH'], LIVEGRAPH_API_KEY: plant.key },
  })
  const answer = JSON.parse(stdout) as {
    success: boolean
    data: { columns: string[]; points: [number, number][] }[]
  }
  expect(answer.success).toBe(true)
  expect(answer.data[0]?.columns).toContain('max')
  expect(answer.data[0]?.points.length).toBeGreaterThan(0)
})

test('applies query changes that follow each other immediately', { tag: '@full' }, async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources/explore', plant.workspace)
  const chip = (name: string) => page.getByRole('button', { name, exact: true })
  await expect(chip('avg')).toHaveAttribute('aria-pressed', 'true')
  // Clicks as fast as the browser can distinguish them.
  await page.evaluate(async () => {
    for (const name of ['min', 'max', 'sum']) {
      const chips = [...document.querySelectorAll<HTMLButtonElement>('.sources-chip')]
      chips.find((one) => one.textContent === name)?.click()
      await Promise.resolve()
    }
  })
  for (const name of ['avg', 'min', 'max', 'sum'])
    await expect(chip(name)).toHaveAttribute('aria-pressed', 'true')
})

/** Creates a source with two series of metric `level`: five minutes, one point per second. One series has a gap. */
async function createSourceWithGap(
  of: Tenant,
  name: string,
): Promise<{ source: string; from: number; to: number }> {
  const { id: source } = await call<{ id: string }>(of, 'POST', '/api/live-data/sources', { name })
  const to = Math.floor(Date.now() / 1000) * 1000
  const seconds = Array.from({ length: 300 }, (_, i) => i)
  const series = (line: string, value: number, when: number[]) =>
    when.map((i) => ({ metric: 'level', timestamp: to - i * 1000, value, tags: { line } }))
  const points = [
    ...series('whole', 10, seconds),
    ...series(
      'torn',
      20,
      seconds.filter((i) => i < 100 || i > 200),
    ),
  ]
  const { checkpoint } = await call<{ checkpoint: string }>(of, 'POST', '/api/live-data/ingest', {
    sourceId: source,
    points,
  })
  const seen = `/api/live-data/query?from=-5m&sourceId=${source}&checkpoint=${encodeURIComponent(checkpoint)}`
  await expect(() => call(of, 'GET', seen)).toPass()
  return { source, from: to - 300_000, to }
}

test(
  'breaks a line where points are missing, even if another series has points there',
  { tag: '@full' },
  async ({ page }) => {
    const { plant } = seed()
    // `middle` returns the current position of the middle of the gap, as a fraction of the width.
    const checked = async (figure: Locator, middle: () => number) => {
      const chart = figure.getByRole('img')
      const [torn, whole] = [await colourOf(figure, 'line=torn'), await colourOf(figure, 'line=whole')]
      const around = async (colour: string) => countPixels(chart, colour, middle() - 0.04, middle() + 0.04)
      await expect.poll(() => countPixels(chart, torn, 0, middle() - 0.2)).toBeGreaterThan(0)
      expect(await countPixels(chart, torn, middle() + 0.2, 1)).toBeGreaterThan(0)
      expect(await around(torn)).toBe(0)
      expect(await around(whole)).toBeGreaterThan(0)
    }
    const { source, from, to } = await createSourceWithGap(plant, 'torn line')
    for (const how of ['mode=raw', 'mode=thinned', 'interval=5s&fill=none', 'interval=5s']) {
      await open(page, `sources/explore?source=${source}&from=${from}&to=${to}&${how}`, plant.workspace)
      await expect(page.getByText('2 lines')).toBeVisible()
      await checked(page.locator('figure.chart').first(), () => 0.5)
    }
    const live = await createSourceWithGap(plant, 'torn live')
    await open(page, `sources/${live.source}`, plant.workspace)
    await expect(page.getByRole('heading', { level: 1, name: 'torn live' })).toBeVisible()
    await checked(page.locator('figure.chart').first(), () => 1 - (Date.now() - live.to + 150_000) / 300_000)
  },
)

test('keeps the previous chart while a new query is running', { tag: '@full' }, async ({ page }) => {
  const { plant } = seed()
  const { source } = await createSourceWithGap(plant, 'steady view')
  await open(page, `sources/explore?source=${source}&last=15m`, plant.workspace)
  const figure = page.locator('figure.chart').first()
  const chart = figure.getByRole('img')
  await expect(page.getByText('2 lines')).toBeVisible()
  const whole = await colourOf(figure, 'line=whole')
  await expect.poll(() => countPixels(chart, whole)).toBeGreaterThan(0)
  let answer: () => void = () => undefined
  const held = new Promise<void>((done) => (answer = done))
  await page.route('**/admin/api/live-data/query*', async (route) => {
    await held
    await route.continue()
  })
  await page.getByRole('button', { name: 'max', exact: true }).click()
  await expect(page.locator('.sources-stale')).toBeVisible()
  // The chart is drawn one frame later.
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))))
  expect(await countPixels(chart, whole)).toBeGreaterThan(0)
  answer()
  await expect(page.getByText('4 lines')).toBeVisible()
  await page.unrouteAll({ behavior: 'wait' })
})

test('deletes points only after a selection and a typed confirmation', async ({ page }) => {
  const { plant } = seed()
  const { source, from, to } = await createSourceWithGap(plant, 'to be emptied')
  const left = async () => {
    const path = `/api/live-data/query?from=-1d&sourceId=${source}&aggregation=count`
    const series = await call<{ points: [number, number][] }[]>(plant, 'GET', path)
    return series.reduce((sum, one) => sum + (one.points[0]?.[1] ?? 0), 0)
  }
  const sent: string[] = []
  page.on('request', (request) => request.method() === 'DELETE' && sent.push(new URL(request.url()).search))
  await open(page, `sources/${source}`, plant.workspace)
  const dialog = page.getByRole('dialog', { name: 'Delete points' })
  const erase = dialog.getByRole('button', { name: /^Delete/ })
  const phrase = dialog.getByLabel(/^Type/)
  const begin = async () => {
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Delete points…' }).click()
    await expect(dialog).toBeVisible()
  }

  // Without a selection nothing is deleted. The name alone is not a selection.
  await begin()
  await expect(erase).toBeDisabled()
  await page.keyboard.press('Enter')
  await phrase.fill('to be emptied')
  await page.keyboard.press('Enter')
  await expect(erase).toBeDisabled()
  await expect(dialog).toBeVisible()
  expect(sent).toEqual([])

  // An incomplete time and an end before the start are refused.
  await dialog.getByRole('radio', { name: 'All metrics' }).check()
  await dialog.getByRole('radio', { name: 'Between two times' }).check()
  // The format of the field, which omits seconds if they are zero.
  const wall = (ms: number) => new Date(ms).toISOString().slice(0, 19).replace(/:00$/, '')
  await dialog.getByLabel('From', { exact: true }).fill(wall(from))
  await dialog.getByLabel('To', { exact: true }).pressSequentially('0102')
  await page.keyboard.press('Enter')
  await expect(erase).toBeDisabled()
  await expect(dialog.getByText('Enter a date with a time.')).toBeVisible()
  await dialog.getByLabel('To', { exact: true }).fill(wall(from - 60_000))
  await expect(dialog.getByText('The end must be after the start.')).toBeVisible()
  await expect(erase).toBeDisabled()
  await dialog.getByLabel('To', { exact: true }).fill(wall(to - 100_000))
  await phrase.fill('to be')
  await expect(erase).toBeDisabled()
  await phrase.press('Enter')
  expect(sent).toEqual([])

  // The selection is shown and deleted: the older two thirds of the time range, in both series.
  await phrase.fill('to be emptied')
  await expect(dialog).toContainText(/every metric, from .* up to/)
  await phrase.press('Enter')
  await expect(page.getByText('Points deleted')).toBeVisible()
  expect(sent).toHaveLength(1)
  await expect.poll(left).toBe(201)

  // All points are deleted only if that is selected.
  await begin()
  await dialog.getByRole('radio', { name: 'All metrics' }).check()
  await phrase.fill('to be emptied')
  await expect(erase).toBeDisabled()
  await dialog.getByRole('radio', { name: 'All time' }).check()
  await erase.click()
  await expect.poll(left).toBe(0)
  expect(sent).toHaveLength(2)
})
