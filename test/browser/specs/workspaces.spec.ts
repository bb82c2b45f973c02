import { expect, open, row, test } from '../support.ts'

test('creates, updates and deletes a workspace with its data', async ({ page }) => {
  await open(page, 'workspaces')
  await page.getByRole('button', { name: 'New workspace', exact: true }).click()
  const form = page.getByRole('dialog', { name: 'New workspace' })
  await form.getByRole('button', { name: 'Create workspace' }).click()
  await expect(form.getByRole('alert').first()).toBeVisible()
  await form.getByLabel('Name').fill('Hall 3')
  await form.getByRole('radio', { name: 'Pro' }).check()
  await form.getByRole('button', { name: 'Create workspace' }).click()
  const details = page.getByRole('dialog', { name: 'Hall 3' })
  await expect(details).toContainText('0 of 300')

  await details.getByRole('button', { name: 'Change' }).click()
  const change = page.getByRole('dialog', { name: 'Change workspace' })
  await change.getByLabel('Name').fill('Hall 4')
  await change.getByRole('radio', { name: 'Enterprise' }).check()
  await change.getByLabel('Requests a minute').fill('many')
  await change.getByRole('button', { name: 'Save' }).click()
  await expect(change.getByRole('alert').first()).toBeVisible()
  await change.getByLabel('Requests a minute').fill('120')
  await change.getByRole('button', { name: 'Save' }).click()
  await expect(change).toHaveCount(0)
  const changed = page.getByRole('dialog', { name: 'Hall 4' })
  await expect(changed).toContainText('0 of 120')

  await changed.getByRole('button', { name: 'Delete' }).click()
  const confirm = page.getByRole('dialog', { name: 'Delete this workspace?' })
  await expect(confirm.getByRole('button', { name: 'Delete workspace' })).toBeDisabled()
  await confirm.getByRole('textbox').fill('Hall 4')
  await confirm.getByRole('button', { name: 'Delete workspace' }).click()
  await expect(page.getByText('All data is removed')).toBeVisible()
  await page.keyboard.press('Escape')
  await expect(row(page, 'default')).toBeVisible()
  await expect(row(page, 'Hall 4')).toHaveCount(0)
})

test('shows an error when the workspace is unknown', { tag: '@full' }, async ({ page, watch }) => {
  watch.allow(/status of 4\d\d .*\/admin\/api\/workspaces\//)
  for (const id of [crypto.randomUUID(), 'no-id-at-all']) {
    for (const path of ['sources', 'sources/explore', 'graph', 'search']) {
      await open(page, path, id)
      await expect(page.getByText('Workspace not found')).toBeVisible()
      await expect(page.getByText(id, { exact: true })).toBeVisible()
      await expect(page.getByRole('button', { name: 'Workspace: none' })).toBeVisible()
    }
  }
  // The user selects a workspace to continue.
  await page.getByRole('button', { name: 'Workspace: none' }).click()
  await page.getByRole('menuitem', { name: 'Plant' }).click()
  await expect(page.getByText('Workspace not found')).toHaveCount(0)
  await expect(page.getByRole('heading', { level: 1, name: 'Search' })).toBeVisible()
  // A page that does not belong to a workspace shows no error.
  await open(page, 'pipeline', crypto.randomUUID())
  await expect(page.getByRole('heading', { level: 1, name: 'Pipeline' })).toBeVisible()
  await expect(page.getByText('Workspace not found')).toHaveCount(0)
})
