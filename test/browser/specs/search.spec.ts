import { expect, open, seed, test } from '../support.ts'

test('explains the results of hybrid and plain search', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'search', plant.workspace)
  await expect(page.getByText('Search nodes')).toBeVisible()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(page.getByText('Search nodes')).toBeVisible()
  await page.getByRole('textbox', { name: 'Query' }).fill('who looks after the pump?')
  await page.getByRole('textbox', { name: 'Query' }).press('Enter')
  const results = page.getByRole('region', { name: 'Results' })
  await expect(results).toContainText(/\d results?/)
  const hit = results.getByRole('listitem').filter({ hasText: 'Ana Ruiz' }).first()
  await expect(hit).toBeVisible()
  // The lanes, the composition of the score, and the path over edges.
  for (const lane of ['Score', 'Words', 'Meaning', 'Graph']) await expect(hit.getByText(lane, { exact: true }).first()).toBeVisible()
  await expect(results.getByText('Composition').first()).toBeVisible()
  await expect(results.getByText('Path over edges').first()).toBeVisible()
  await expect(page.getByRole('region', { name: 'The request as a command' })).toContainText('/api/rag/hybrid-search')

  await page.getByRole('radio', { name: 'Plain' }).check()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(page.getByRole('region', { name: 'The request as a command' })).toContainText('/api/rag/search')
  await expect(results.getByRole('listitem').filter({ hasText: 'Pump 7' }).first()).toBeVisible()
  await expect(results.getByText('Path over edges')).toHaveCount(0)

  await results.getByRole('link', { name: /in the graph/ }).first().click()
  await expect(page.getByRole('heading', { level: 1, name: 'Graph' })).toBeVisible()
  await expect(page.locator('.graph-count')).toHaveText(/^[1-9]/)
})
