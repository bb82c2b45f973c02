import type { Page } from '@playwright/test'

import { expect, open, seed, test } from '../support.ts'

const counts = (page: Page) => page.locator('.graph-count')

test('nodes are found, expanded, made, changed, connected, undone and redone', async ({ page }) => {
  const { plant } = seed()
  const boiler = plant.nodes['Boiler 2'] ?? ''
  await open(page, `graph?node=${boiler}`, plant.workspace)
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  await page.getByRole('button', { name: 'Clear the canvas' }).click()
  await expect(counts(page)).toHaveText('0 nodes, 0 edges')

  // Found and looked at.
  await page.getByRole('searchbox', { name: 'Find nodes by name' }).fill('pump')
  await page.getByRole('button', { name: /Pump 7/ }).click()
  await page.keyboard.press('Escape')
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(side.getByRole('heading', { name: 'Pump 7' })).toBeVisible()
  await expect(side).toContainText('Circulation pump in the cellar')
  await expect(side).toContainText('3 edges')
  await side.getByRole('button', { name: 'Expand' }).click()
  await expect(counts(page)).toHaveText(/^4 nodes, [3-9] edges$/)

  // Changed.
  await side.getByRole('button', { name: 'Edit' }).click()
  const edit = page.getByRole('dialog', { name: 'Edit Pump 7' })
  await edit.getByLabel('Name', { exact: true }).fill('Pump 7b')
  await edit.getByRole('button', { name: 'Save' }).click()
  await expect(side.getByRole('heading', { name: 'Pump 7b' })).toBeVisible()
  await expect(side).toContainText('version 2')

  // Made and connected.
  await page.getByRole('toolbar', { name: 'Edit the graph' }).getByRole('button', { name: 'Node' }).click()
  const node = page.getByRole('dialog', { name: 'New node' })
  await node.getByRole('button', { name: 'Create' }).click()
  await expect(node.getByText('It needs a name.')).toBeVisible()
  await node.getByLabel('Name', { exact: true }).fill('Bearing 7-A')
  await node.getByRole('button', { name: 'Create' }).click()
  await expect(side.getByRole('heading', { name: 'Bearing 7-A' })).toBeVisible()
  await expect(counts(page)).toHaveText(/^5 nodes/)
  await side.getByRole('button', { name: 'Connect' }).click()
  const edge = page.getByRole('dialog', { name: 'New edge' })
  await edge.getByRole('combobox', { name: 'To' }).fill('Pump')
  await edge.getByRole('option', { name: /Pump 7b/ }).click()
  await edge.getByRole('combobox', { name: 'Relation' }).or(edge.getByLabel('Relation')).first().fill('is part of')
  await edge.getByRole('button', { name: 'Connect' }).click()
  await expect(edge).toHaveCount(0)
  await expect(side).toContainText('is part of')

  // Undone and redone: the edge, then by the history.
  const before = await counts(page).innerText()
  await page.getByRole('button', { name: 'Undo my last command' }).click()
  await expect(counts(page)).not.toHaveText(before)
  await page.getByRole('button', { name: 'Redo my last undone command' }).click()
  await expect(counts(page)).toHaveText(before)

  await side.getByRole('tab', { name: 'History' }).click()
  const renamed = side.getByRole('listitem').filter({ hasText: 'Pump 7b' }).filter({ hasText: /name/i }).first()
  await renamed.getByRole('button', { name: /^Undo:/ }).click()
  await expect(side.getByRole('button', { name: /^Redo:/ }).first()).toBeVisible()
  await side.getByRole('tab', { name: /^Shown/ }).click()
  const tree = side.getByRole('tree', { name: 'Nodes on the canvas' })
  await expect(tree.getByRole('treeitem', { name: /Pump 7,|Pump 7\b(?!b)/ }).first()).toBeVisible()
  await side.getByRole('tab', { name: 'History' }).click()
  await side.getByRole('button', { name: /^Redo:/ }).first().click()
  await side.getByRole('tab', { name: /^Shown/ }).click()
  await expect(tree.getByRole('treeitem', { name: /Pump 7b/ }).first()).toBeVisible()

  // Deleted with its edge, and brought back with it.
  await tree.getByRole('treeitem', { name: /Bearing 7-A/ }).first().click()
  await side.getByRole('tab', { name: 'Selection' }).click()
  await side.getByRole('button', { name: 'More to do with this node' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete the node' }).click()
  await expect(counts(page)).toHaveText(/^4 nodes/)
  await page.getByRole('button', { name: 'Undo my last command' }).click()
  await expect(counts(page)).toHaveText(before)
})

test('the canvas is worked by keyboard', async ({ page }) => {
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

test('a change by somebody else is seen at once', async ({ page }) => {
  const { plant } = seed()
  const { call } = await import('../support.ts')
  const valve = plant.nodes['Valve V-12'] ?? ''
  await open(page, `graph?node=${valve}`, plant.workspace)
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(page.getByText('Live', { exact: true })).toBeVisible()
  await side.getByRole('tab', { name: /^Shown/ }).click()
  await expect(side.getByRole('treeitem', { name: /Valve V-12/ })).toBeVisible()
  await call(plant, 'POST', '/api/commands/execute', { type: 'UPDATE_NODE', payload: { id: valve, name: 'Valve V-13' } })
  await expect(side.getByRole('treeitem', { name: /Valve V-13/ })).toBeVisible()
})
