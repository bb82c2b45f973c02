import { control, expect, FIRST, open, PAGES, row, test, waitForPage } from '../support.ts'

test('shows errors during an outage and recovers afterwards', { tag: '@full' }, async ({ page, watch }) => {
  test.setTimeout(240_000)
  watch.allow(/ERR_|Failed to fetch|net::|status of 50\d|Failed to load/)
  await open(page, '')
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  const nav = (name: string) =>
    page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name, exact: true })
  // Loads the scripts of the pages, so that only their data is unavailable.
  for (const name of ['Sources', 'Pipeline', 'Overview']) {
    await nav(name).click()
    await expect(page.getByRole('heading', { level: 1, name })).toBeVisible()
  }
  try {
    await control('stop')
    await expect(page.getByText(/^(Reconnecting|Disconnected)/)).toBeVisible()
    await nav('Workspaces').click()
    await expect(page.getByText('This page could not be loaded')).toBeVisible()
    await nav('Sources').click()
    await page.getByRole('searchbox', { name: 'Part of the name' }).fill('nothing that was asked before')
    await expect(page.getByRole('alert').filter({ hasText: 'cannot be reached' }).first()).toBeVisible()
    await page.getByRole('searchbox', { name: 'Part of the name' }).fill('')
    await nav('Overview').click()
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
    await nav('Keys').click()
    await expect(page.getByText('This page could not be loaded')).toBeVisible()
  } finally {
    await control('start')
  }
  // The page that failed to load recovers without user action, and so do the others.
  await expect(row(page, 'first run')).toBeVisible({ timeout: 60_000 })
  await nav('Workspaces').click()
  await waitForPage(page, 'Workspaces') // until then the keys page is shown, which has similar rows
  await expect(row(page, 'default')).toBeVisible()
  await nav('Overview').click()
  await waitForPage(page, 'Overview')
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  for (const { path, heading, scoped } of PAGES.slice(0, 3)) {
    await open(page, path, scoped ? FIRST.WorkspaceID : undefined)
    await expect(page.getByRole('heading', { level: 1, name: heading })).toBeVisible()
  }
})
