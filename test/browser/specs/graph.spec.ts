import type { Page } from '@playwright/test'

import { call, expect, FIRST, logIn, open, seed, test, URL_OF } from '../support.ts'

const counts = (page: Page) => page.locator('.graph-count')

test('finds, expands, creates, updates, connects and deletes nodes, with undo and redo', async ({ page }) => {
  const { plant } = seed()
  const boiler = plant.nodes['Boiler 2'] ?? ''
  await open(page, `graph?node=${boiler}`, plant.workspace)
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  await page.getByRole('button', { name: 'Clear the canvas' }).click()
  await expect(counts(page)).toHaveText('0 nodes, 0 edges')

  // Find a node and show its details.
  await page.getByRole('searchbox', { name: 'Find nodes by name' }).fill('pump')
  await page.getByRole('button', { name: /Pump 7/ }).click()
  await page.keyboard.press('Escape')
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(side.getByRole('heading', { name: 'Pump 7' })).toBeVisible()
  await expect(side).toContainText('Circulation pump in the cellar')
  await expect(side).toContainText('3 edges')
  await side.getByRole('button', { name: 'Expand' }).click()
  await expect(counts(page)).toHaveText(/^4 nodes, [3-9] edges$/)

  // Update the node.
  await side.getByRole('button', { name: 'Edit' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit Pump 7' })
  await edit.getByLabel('Name', { exact: true }).fill('Pump 7b')
  await edit.getByRole('button', { name: 'Save' }).click()
  await expect(side.getByRole('heading', { name: 'Pump 7b' })).toBeVisible()
  await expect(side).toContainText('version 2')

  // Create a node and connect it.
  await page.getByRole('toolbar', { name: 'Edit the graph' }).getByRole('button', { name: 'Node' }).click()
  const node = page.getByRole('dialog', { name: 'New node' })
  await node.getByRole('button', { name: 'Create' }).click()
  await expect(node.getByText('Enter a name.')).toBeVisible()
  await node.getByLabel('Name', { exact: true }).fill('Bearing 7-A')
  await node.getByRole('button', { name: 'Create' }).click()
  await expect(side.getByRole('heading', { name: 'Bearing 7-A' })).toBeVisible()
  await expect(counts(page)).toHaveText(/^5 nodes/)
  await side.getByRole('button', { name: 'Connect' }).click()
  const edge = page.getByRole('dialog', { name: 'New edge' })
  await edge.getByRole('combobox', { name: 'To' }).fill('Pump')
  await edge.getByRole('option', { name: /Pump 7b/ }).click()
  await edge
    .getByRole('combobox', { name: 'Relation' })
    .or(edge.getByLabel('Relation'))
    .first()
    .fill('is part of')
  await edge.getByRole('button', { name: 'Connect' }).click()
  await expect(edge).toHaveCount(0)
  await expect(side).toContainText('is part of')

  // Undo and redo the edge, then the update from the history.
  const before = await counts(page).innerText()
  await page.getByRole('button', { name: 'Undo my last command' }).click()
  await expect(counts(page)).not.toHaveText(before)
  await page.getByRole('button', { name: 'Redo my last undone command' }).click()
  await expect(counts(page)).toHaveText(before)

  await side.getByRole('tab', { name: 'History' }).click()
  const renamed = side
    .getByRole('listitem')
    .filter({ hasText: 'Pump 7b' })
    .filter({ hasText: /name/i })
    .first()
  await renamed.getByRole('button', { name: /^Undo:/ }).click()
  await expect(side.getByRole('button', { name: /^Redo:/ }).first()).toBeVisible()
  await side.getByRole('tab', { name: /^Shown/ }).click()
  const tree = side.getByRole('tree', { name: 'Nodes on the canvas' })
  await expect(tree.getByRole('treeitem', { name: /Pump 7,|Pump 7\b(?!b)/ }).first()).toBeVisible()
  await side.getByRole('tab', { name: 'History' }).click()
  await side
    .getByRole('button', { name: /^Redo:/ })
    .first()
    .click()
  await side.getByRole('tab', { name: /^Shown/ }).click()
  await expect(tree.getByRole('treeitem', { name: /Pump 7b/ }).first()).toBeVisible()

  // Delete the node with its edge, and restore both with undo.
  await tree
    .getByRole('treeitem', { name: /Bearing 7-A/ })
    .first()
    .click()
  await side.getByRole('tab', { name: 'Selection' }).click()
  await side.getByRole('button', { name: 'More actions' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete the node' }).click()
  await expect(counts(page)).toHaveText(/^4 nodes/)
  await page.getByRole('button', { name: 'Undo my last command' }).click()
  await expect(counts(page)).toHaveText(before)
})

test('selects and removes a node with the keyboard', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'graph', plant.workspace)
  await expect(counts(page)).toHaveText(/^[1-9]/)
  const canvas = page.getByRole('application', { name: 'Graph' })
  await canvas.focus()
  await page.keyboard.press('ArrowRight')
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(side.locator('.graph-details h2')).toBeVisible()
  const shown = await counts(page).innerText()
  await page.keyboard.press('Delete')
  await expect(counts(page)).not.toHaveText(shown)
})

test('shows a change by another client without a reload', async ({ page }) => {
  const { plant } = seed()
  const valve = plant.nodes['Valve V-12'] ?? ''
  await open(page, `graph?node=${valve}`, plant.workspace)
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  await side.getByRole('tab', { name: /^Shown/ }).click()
  await expect(side.getByRole('treeitem', { name: /Valve V-12/ })).toBeVisible()
  await call(plant, 'POST', '/api/commands/execute', {
    type: 'UPDATE_NODE',
    payload: { id: valve, name: 'Valve V-13' },
  })
  await expect(side.getByRole('treeitem', { name: /Valve V-13/ })).toBeVisible()
})

test(
  'connects the stream after requests for its start position failed',
  { tag: '@full' },
  async ({ page, watch }) => {
    watch.allow(/status of (403|503)/)
    const { plant } = seed()
    const answers = [503, 503, 503, 503, 403]
    await page.route(/\/admin\/api\/queries\/history\?.*limit=1(&|$)/, async (route) => {
      const status = answers.shift()
      if (status === undefined) await route.continue()
      else
        await route.fulfill({
          status,
          json: { success: false, error: { code: 'X', message: 'Not now' }, requestId: 'req_x' },
        })
    })
    await open(page, 'graph', plant.workspace)
    await expect(page.getByText('Reconnecting')).toBeVisible()
    await expect(page.getByText('Live', { exact: true })).toBeVisible({ timeout: 90_000 })
    expect(answers).toEqual([])
  },
)

test('reconnects after the stream was refused once', { tag: '@full' }, async ({ page, watch }) => {
  watch.allow(/status of 403/)
  const { plant } = seed()
  let refused = 0
  await page.route('**/admin/api/queries/events*', async (route) => {
    if (refused++ > 0) await route.continue()
    else
      await route.fulfill({
        status: 403,
        json: { success: false, error: { code: 'FORBIDDEN', message: 'Not now' }, requestId: 'req_x' },
      })
  })
  await open(page, 'graph', plant.workspace)
  await page.getByRole('button', { name: 'Reconnect' }).click()
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
})

test(
  'reuses the idempotency key when a command with an unknown outcome is retried',
  { tag: '@full' },
  async ({ page, watch }) => {
    watch.allow(/status of (503|504)|ERR_|Failed to load/)
    const { plant } = seed()
    await open(page, `graph?node=${plant.nodes['Boiler 2'] ?? ''}`, plant.workspace)
    await expect(page.getByText('Live', { exact: true })).toBeVisible()
    const keys: string[] = []
    const fates: ('lost' | 'cut' | 'timeout')[] = ['lost', 'cut', 'timeout']
    await page.route('**/admin/api/commands/execute', async (route) => {
      keys.push((await route.request().allHeaders())['idempotency-key'] ?? '')
      const fate = fates.shift()
      if (!fate) return route.continue()
      // The server executes the command, but its response is lost.
      const answer = await route.fetch()
      expect(answer.ok()).toBe(true)
      if (fate === 'cut') return route.abort()
      const { status, code } = {
        lost: { status: 503, code: 'UNAVAILABLE' },
        timeout: { status: 504, code: 'TIMEOUT' },
      }[fate]
      return route.fulfill({
        status,
        headers: { 'Retry-After': '1' },
        json: { success: false, error: { code, message: 'Service unavailable' }, requestId: 'req_x' },
      })
    })
    await page.getByRole('toolbar', { name: 'Edit the graph' }).getByRole('button', { name: 'Node' }).click()
    const dialog = page.getByRole('dialog', { name: 'New node' })
    await dialog.getByLabel('Name', { exact: true }).fill('Only once')
    for (let i = 0; i < 3; i++) {
      await dialog.getByRole('button', { name: 'Create' }).click()
      await expect.poll(() => keys.length).toBe(i + 1)
      await expect(dialog.getByRole('alert')).toContainText('may have been applied')
      await expect(dialog.getByRole('alert')).not.toContainText('Nothing was changed')
      await expect(dialog.getByRole('button', { name: 'Create' })).toBeEnabled()
    }
    await dialog.getByRole('button', { name: 'Create' }).click()
    await expect(dialog).toHaveCount(0)
    expect(keys).toHaveLength(4)
    expect(new Set(keys).size).toBe(1)
    const named = async () =>
      (await call<unknown[]>(plant, 'GET', '/api/queries/nodes?name=Only%20once')).length
    expect(await named()).toBe(1)

    // A different command has a new key. So has the same command once its outcome is known.
    for (const name of ['Only once', 'Something else']) {
      await page
        .getByRole('toolbar', { name: 'Edit the graph' })
        .getByRole('button', { name: 'Node' })
        .click()
      await dialog.getByLabel('Name', { exact: true }).fill(name)
      await dialog.getByRole('button', { name: 'Create' }).click()
      await expect(dialog).toHaveCount(0)
    }
    expect(new Set(keys).size).toBe(3)
    expect(await named()).toBe(2)
  },
)

test('creates a node over plain HTTP from another host', async ({ browser }) => {
  const { plant } = seed()
  const port = new URL(URL_OF).port
  const context = await browser.newContext({
    baseURL: `http://plain.livegraph.test:${port}`,
    storageState: { cookies: [], origins: [] },
  })
  const page = await context.newPage()
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto(`/admin/graph?workspace=${plant.workspace}`)
  await logIn(page, FIRST.AdminUser, FIRST.AdminPassword)
  expect(await page.evaluate(() => window.isSecureContext)).toBe(false)
  await page.getByRole('toolbar', { name: 'Edit the graph' }).getByRole('button', { name: 'Node' }).click()
  const dialog = page.getByRole('dialog', { name: 'New node' })
  await dialog.getByLabel('Name', { exact: true }).fill('Without TLS')
  await dialog.getByRole('button', { name: 'Create' }).click()
  await expect(dialog).toHaveCount(0)
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(side.getByRole('heading', { name: 'Without TLS' })).toBeVisible()
  expect(errors).toEqual([])
  await context.close()
})
