// More workspaces, and more keys of a workspace, than one page of a list contains.

import { join } from 'node:path'

import { Admin } from '../admin.ts'
import { call, control, expect, IMAGES, open, row, test } from '../support.ts'

test(
  'finds each of more than a thousand workspaces in every workspace selector',
  { tag: '@full' },
  async ({ page }) => {
    test.setTimeout(120_000)
    await control('create-many', { workspaces: 1_200 })
    try {
      await open(page, 'workspaces')
      await expect(page.getByRole('button', { name: 'Next page' })).toBeVisible()
      await page.getByRole('searchbox', { name: 'Find by name or id' }).fill('crowd 1200')
      await expect(page.getByRole('heading', { name: '1 workspace', exact: true })).toBeVisible()
      await expect(row(page, 'Crowd 1200')).toBeVisible()

      // The menu item opens the command palette.
      await page.getByRole('button', { name: /^Workspace: / }).click()
      await page.screenshot({ path: join(IMAGES, 'crowd-menu.png') })
      await page.getByRole('menuitem', { name: /Find one of 1,2\d\d/ }).click()
      await page.getByRole('combobox', { name: 'Find a page or an action' }).fill('crowd 1199')
      const option = page.getByRole('option', { name: /Crowd 1199/ })
      await expect(option).toBeVisible()
      await page.screenshot({ path: join(IMAGES, 'crowd-palette.png') })
      await option.click()
      await expect(page.getByRole('button', { name: 'Workspace: Crowd 1199' })).toBeVisible()
      const chosen = new URL(page.url()).searchParams.get('workspace') ?? ''

      for (const path of ['keys', 'audit', 'pipeline']) {
        await open(page, path)
        if (path === 'pipeline') await page.getByRole('tab', { name: /Dead letters/ }).click()
        await page.getByRole('searchbox', { name: 'Find a workspace' }).fill('crowd 1198')
        const choice = page.getByRole('combobox', { name: 'Workspace' })
        await expect(choice.getByRole('option', { name: 'Crowd 1198' })).toHaveCount(1)
        await choice.selectOption('Crowd 1198')
        await page.screenshot({ path: join(IMAGES, `crowd-${path}.png`) })
      }
      // The page requests the name of a workspace in the URL.
      await open(page, `keys?workspaceId=${chosen}&new=1`)
      const dialog = page.getByRole('dialog', { name: 'New key' })
      await expect(dialog.getByRole('checkbox', { name: 'Crowd 1199' })).toBeChecked()
      await dialog.getByRole('searchbox', { name: 'Find a workspace' }).fill('crowd 1197')
      await dialog.getByRole('checkbox', { name: 'Crowd 1197' }).check()
      await expect(dialog.getByRole('checkbox', { name: 'Crowd 1199' })).toBeChecked()
      await page.screenshot({ path: join(IMAGES, 'crowd-new-key.png') })
      await page.keyboard.press('Escape')
      await expect(page.getByRole('combobox', { name: 'Workspace' })).toHaveValue(chosen)
      await expect(page.getByRole('combobox', { name: 'Workspace' }).locator('option:checked')).toHaveText(
        'Crowd 1199',
      )
    } finally {
      await control('delete-many')
    }
  },
)

test(
  'shows the name of a key in the graph history if a thousand keys are newer',
  { tag: '@full' },
  async ({ page }) => {
    const admin = await Admin.withSession(page.request)
    const crowded = await admin.tenant('An old key', 'live')
    await call(crowded, 'POST', '/api/commands/batch', {
      commands: [
        { type: 'CREATE_NODE', payload: { id: crypto.randomUUID(), name: 'Pump', entityType: 'object' } },
      ],
    })
    await control('create-many', { workspace: crowded.workspace, count: 1_200, newer: true })
    try {
      await open(page, 'graph', crowded.workspace)
      await page
        .getByRole('complementary', { name: 'About the graph' })
        .getByRole('tab', { name: 'History' })
        .click()
      await expect(page.getByText(/key An old key admin/)).toBeVisible()
      await page.screenshot({ path: join(IMAGES, 'crowd-history.png') })
    } finally {
      await control('delete-many')
      await admin.delete(`/workspaces/${crowded.workspace}`)
    }
  },
)
