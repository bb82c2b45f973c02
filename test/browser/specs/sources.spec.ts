import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { call, expect, open, row, seed, test } from '../support.ts'

const run = promisify(execFile)

test('a source’s chart moves as points come', async ({ page }) => {
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
  await page.getByRole('button', { name: 'Stand still' }).click()
  await expect(page.getByText('standing still')).toBeVisible()
  const still = await pixels()
  await page.getByRole('button', { name: 'Go on' }).click()
  await expect.poll(pixels).not.toBe(still)
})

test('a source is made, changed and deleted', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources', plant.workspace)
  await page.getByRole('button', { name: 'New source' }).first().click()
  const form = page.getByRole('dialog')
  await form.getByLabel('Name').first().fill('chimney')
  await form.getByRole('button', { name: /^(Create|Make|Save)/ }).click()
  await expect(page.getByRole('heading', { level: 1, name: 'chimney' })).toBeVisible()
  await expect(page.getByText('Nothing came yet')).toBeVisible()
  await page.getByRole('button', { name: 'Edit' }).click()
  await page.getByRole('dialog').getByLabel(/^Description/).first().fill('On the roof')
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

test('the explorer’s query is a curl that works when it is pasted', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources/explore', plant.workspace)
  // The address holds what is chosen, and a box is ticked when it says so.
  for (const name of ['boiler', 'temperature']) {
    await page.getByRole('checkbox', { name }).click()
    await expect(page.getByRole('checkbox', { name })).toBeChecked()
  }
  await page.getByRole('button', { name: 'max', exact: true }).click()
  await page.getByLabel('Interval', { exact: true }).selectOption('1m')
  await expect(page.getByText(/\d lines?, /)).toBeVisible()
  await page.getByRole('tab', { name: 'Table' }).click()
  await expect(page.getByRole('table').first()).toBeVisible()
  await page.getByRole('tab', { name: 'As a command' }).click()
  const command = await page.getByRole('region').filter({ hasText: 'curl' }).innerText()
  expect(command).toContain('$LIVEGRAPH_API_KEY')
  expect(command).not.toMatch(/lg_(live|test)_/)
  const { stdout } = await run('bash', ['-c', command], { env: { PATH: process.env['PATH'], LIVEGRAPH_API_KEY: plant.key } })
  const answer = JSON.parse(stdout) as { success: boolean; data: { columns: string[]; points: [number, number][] }[] }
  expect(answer.success).toBe(true)
  expect(answer.data[0]?.columns).toContain('max')
  expect(answer.data[0]?.points.length).toBeGreaterThan(0)
})

test('two changes of the query, one right after the other, both hold', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'sources/explore', plant.workspace)
  const chip = (name: string) => page.getByRole('button', { name, exact: true })
  await expect(chip('avg')).toHaveAttribute('aria-pressed', 'true')
  // As quick as a browser can tell two presses apart.
  await page.evaluate(async () => {
    for (const name of ['min', 'max', 'sum']) {
      const chips = [...document.querySelectorAll<HTMLButtonElement>('.sources-chip')]
      chips.find((one) => one.textContent === name)?.click()
      await Promise.resolve()
    }
  })
  for (const name of ['avg', 'min', 'max', 'sum']) await expect(chip(name)).toHaveAttribute('aria-pressed', 'true')
})
