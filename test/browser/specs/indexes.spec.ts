import { expect, open, row, test } from '../support.ts'

test('rebuilds the index', async ({ page }) => {
  await open(page, 'indexes')
  await expect(row(page, 'Plant')).toContainText('ready')
  await page.getByRole('button', { name: 'Re-index' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Re-index everything' }).click()
  await expect(page.getByText('A new index is being built').first()).toBeVisible()
  await expect(page.getByRole('heading', { name: 'Last request' })).toBeVisible()
  const again = page.getByRole('button', { name: 'Re-index', exact: true })
  await expect(again).toBeEnabled({ timeout: 90_000 })
  await expect(row(page, 'Plant')).toContainText('ready')
})
