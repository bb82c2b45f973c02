import { readFileSync } from 'node:fs'

import { call, expect, FIRST, open, row, seed, statusOf, test } from '../support.ts'

test('filters requests, shows their details and exports them as CSV', async ({ page }) => {
  const { plant } = seed()
  expect(await statusOf(plant, `/api/queries/nodes/${crypto.randomUUID()}`)).toBe(404)
  await call(plant, 'GET', '/api/me')
  await open(page, `audit?workspaceId=${plant.workspace}`)
  const uses = page.getByRole('table', { name: 'Requests with keys' })
  // The record is visible a few seconds after the answer.
  await expect(async () => {
    await page.getByRole('button', { name: 'Refresh' }).click()
    await expect(row(uses, '404').first()).toBeVisible({ timeout: 2_000 })
  }).toPass()
  await page.getByLabel('Status').selectOption('4xx')
  await page.getByLabel('Route').fill('/api/queries/nodes/*')
  await page.getByLabel('Route').press('Enter')
  await expect(row(uses, '201')).toHaveCount(0)
  await expect(row(uses, '404').first()).toBeVisible()

  const download = page.waitForEvent('download')
  await page.getByRole('link', { name: 'CSV' }).click()
  const file = await download
  expect(file.suggestedFilename()).toBe('livegraph-audit.csv')
  const lines = readFileSync(await file.path(), 'utf8')
    .trim()
    .split(/\r?\n/)
  expect(lines[0]).toContain('requestId')
  expect(lines.length).toBeGreaterThan(1)
  for (const line of lines.slice(1)) expect(line).toContain('404')

  await row(uses, '404').first().click()
  await expect(page.getByRole('dialog')).toContainText('/api/queries/nodes')
  await expect(page.getByRole('dialog')).toContainText('req_')
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect(row(uses, '201').first()).toBeVisible()

  await page.getByRole('tab', { name: 'Actions of operators' }).click()
  const trail = page.getByRole('table', { name: 'Actions of operators' })
  await expect(row(trail, FIRST.AdminUser).first()).toBeVisible()
})

test('keeps the focus in a filter after it is applied', { tag: '@full' }, async ({ page, watch }) => {
  watch.allow(/status of 4\d\d .*\/admin\/api\/audit$/)
  await open(page, 'audit')
  const uses = page.getByRole('table', { name: 'Requests with keys' })
  await expect(uses).toBeVisible()
  await expect(page.locator('.skeleton')).toHaveCount(0)
  const route = page.getByLabel('Route')
  await route.fill('/api/*')
  await page.keyboard.press('Enter')
  await expect(page).toHaveURL(/route=/)
  await expect(route).toBeFocused()
  await page.keyboard.type('me')
  await expect(route).toHaveValue('/api/*me')
  await page.keyboard.press('Tab')
  await expect(page).toHaveURL(/route=%2Fapi%2F\*me/)
  await expect(page.getByLabel('Address')).toBeFocused()
  const status = page.getByLabel('Status')
  await status.focus()
  await page.keyboard.press('ArrowDown')
  await expect(page).toHaveURL(/status=2xx/)
  await expect(status).toBeFocused()
  // Text that is not applied yet is kept when another filter changes.
  await page.getByLabel('Request', { exact: true }).fill('req_1')
  await status.selectOption('4xx')
  await expect(page.getByLabel('Request', { exact: true })).toHaveValue('req_1')
  await expect(route).toHaveValue('/api/*me')
  // Leaving the field applies the text, which is not the id of a request, while the button is pressed.
  await page.getByRole('button', { name: 'Clear filters' }).click({ delay: 1000 })
  for (const field of [route, page.getByLabel('Request', { exact: true })])
    await expect(field).toHaveValue('')
})
