import { type Page } from '@playwright/test'

import { Admin } from '../admin.ts'
import { control, expect, open, row, seed, statusOf, test } from '../support.ts'

test.use({ permissions: ['clipboard-read', 'clipboard-write'] })

test('creates, uses, rolls and revokes a key, and shows it once', async ({ page, context }) => {
  const { workspace } = seed().plant
  await open(page, `keys?workspaceId=${workspace}`)
  await page.getByRole('button', { name: 'New key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await expect(dialog.getByRole('alert')).toContainText('Enter a name')
  await dialog.getByLabel('Name').fill('gateway hall 3')
  await dialog.getByRole('radio', { name: 'Read all' }).check()
  await dialog.getByRole('button', { name: 'Create key' }).click()

  await expect(dialog).toContainText('This is shown once')
  const first = await shownKey(page)
  expect(first).toMatch(/^lg_live_[0-9A-Za-z]{38}$/)
  // Actions that would lose the key do not close the dialog.
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  await expect(dialog).toContainText('This is shown once')
  await dialog.getByRole('button', { name: 'Copy' }).first().click()
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(first)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(dialog).toHaveCount(0)
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await expectNotStored(page, first)

  expect(await statusOf({ workspace, key: first }, '/api/queries/nodes')).toBe(200)
  expect(await statusOf({ workspace, key: first }, '/api/admin/usage')).toBe(403)

  await row(page, 'gateway hall 3').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Roll', exact: true }).click()
  await page.getByRole('dialog', { name: 'Roll this key?' }).getByRole('button', { name: 'Roll key' }).click()
  await expect(page.getByRole('dialog', { name: 'The successor' })).toBeVisible()
  const second = await shownKey(page)
  expect(second).not.toBe(first)
  await page.getByRole('button', { name: 'I have saved it' }).click()
  await expect(page.getByRole('dialog', { name: 'The successor' })).toHaveCount(0)
  await expectNotStored(page, second)
  // Both keys work during the grace period of one day.
  expect(await statusOf({ workspace, key: first }, '/api/queries/nodes')).toBe(200)
  expect(await statusOf({ workspace, key: second }, '/api/queries/nodes')).toBe(200)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)

  await expect(row(page, 'gateway hall 3')).toHaveCount(2)
  for (const left of [1, 0]) {
    await row(page, 'gateway hall 3').first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await expect(row(page, 'gateway hall 3')).toHaveCount(left)
  }
  for (const key of [first, second])
    await expect.poll(() => statusOf({ workspace, key }, '/api/queries/nodes')).toBe(401)

  // Restored form data and the page cache do not contain the keys either.
  await page.goBack()
  await page.reload()
  await expect(page.locator('h1')).toBeVisible() // by tag, because it has no role while a dialog is open
  await expectNotStored(page, first)
  expect(JSON.stringify(await context.storageState({ indexedDB: true }))).not.toContain(second)
})

const shownKey = async (page: Page) => (await page.locator('[data-secret=key]').innerText()).trim()

/** Requires that the browser does not store the key after its dialog is closed. */
async function expectNotStored(page: Page, key: string): Promise<void> {
  const secret = key.slice(8) // without the prefix of the mode
  const kept = await page.evaluate(async () => {
    const bases = await indexedDB.databases()
    const fields = [...document.querySelectorAll<HTMLInputElement>('input, textarea')].map((one) => one.value)
    const caches = 'caches' in window ? await window.caches.keys() : []
    return {
      local: { ...localStorage },
      session: { ...sessionStorage },
      bases,
      caches,
      cookies: document.cookie,
      url: location.href,
      history: JSON.stringify(history.state),
      name: window.name,
      title: document.title,
      dom: document.documentElement.outerHTML,
      fields,
    }
  })
  expect(JSON.stringify(kept)).not.toContain(secret)
  expect(kept.bases).toEqual([])
  expect(kept.caches).toEqual([])
  expect(Object.keys(kept.session)).toEqual([])
  expect(Object.keys(kept.local).filter((name) => !/theme/.test(name))).toEqual([])
}

test(
  'shows a new key even if the user leaves before the response arrives',
  { tag: '@full' },
  async ({ page, watch }) => {
    watch.allow(/status of 401/)
    const { workspace } = seed().plant
    await open(page, `pipeline`)
    await open(page, `keys?workspaceId=${workspace}`)
    const kept: string[] = []
    const shown = page.locator('[data-secret=key]')
    const taken = async () => {
      kept.push((await shown.innerText()).trim())
      expect(await statusOf({ workspace, key: kept.at(-1) ?? '' }, '/api/queries/nodes')).toBe(200)
      await page.getByRole('button', { name: 'I have saved it' }).click()
      await expect(shown).toHaveCount(0)
    }
    // The response arrives only after the user has tried to leave.
    const leave: (() => Promise<unknown>)[] = [
      () => page.keyboard.press('Escape'),
      () => page.mouse.click(5, 5),
      () => page.goBack(),
    ]
    for (const away of leave) {
      let answer: () => void = () => undefined
      const held = new Promise<void>((done) => (answer = done))
      await page.route('**/admin/api/keys', async (route) => {
        if (route.request().method() !== 'POST') return route.continue()
        const response = await route.fetch()
        await held
        return route.fulfill({ response })
      })
      await open(page, `keys?workspaceId=${workspace}`)
      await page.getByRole('button', { name: 'New key' }).click()
      const dialog = page.getByRole('dialog', { name: 'New key' })
      await dialog.getByLabel('Name').fill('made meanwhile')
      await dialog.getByRole('radio', { name: 'Read all' }).check()
      const asked = page.waitForRequest(
        (request) => request.method() === 'POST' && request.url().endsWith('/keys'),
      )
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await asked
      await away()
      answer()
      await taken()
      await page.unrouteAll({ behavior: 'wait' })
    }

    // The successor of a key that expires immediately and so disappears from the list of active keys.
    await open(page, `keys?workspaceId=${workspace}`)
    await row(page, 'made meanwhile').first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll', exact: true }).click()
    const roll = page.getByRole('dialog', { name: 'Roll this key?' })
    await roll.getByLabel('The old key works for another').selectOption('0')
    const listed = page.waitForResponse(
      (r) => r.request().method() === 'GET' && new URL(r.url()).pathname.endsWith('/api/keys'),
    )
    await roll.getByRole('button', { name: 'Roll key' }).click()
    await expect(page.getByRole('dialog', { name: 'The successor' })).toBeVisible()
    await listed
    // The key is shown after navigation to another page as well.
    await page.goBack()
    await expect(page.getByRole('dialog', { name: 'The successor' })).toBeVisible()
    await taken()
    expect(new Set(kept).size).toBe(4)
    for (const key of kept) await expectNotStored(page, key)
  },
)

test(
  'lists more than a thousand keys, newest first, and finds each by name',
  { tag: '@full' },
  async ({ page }) => {
    const admin = await Admin.withSession(page.request)
    const crowded = await admin.tenant('A crowd of keys', 'live')
    await control('create-many', { workspace: crowded.workspace, count: 1_200 })
    try {
      await open(page, `keys?workspaceId=${crowded.workspace}`)
      await expect(page.getByRole('heading', { name: '1,201 keys' })).toBeVisible()
      await page.getByRole('button', { name: 'New key' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Name').fill('the very last')
      await dialog.getByRole('button', { name: 'Create key' }).click()
      await page.getByRole('button', { name: 'I have saved it' }).click()
      await expect(page.getByRole('heading', { name: '1,202 keys' })).toBeVisible()
      const table = page.getByRole('table', { name: 'Keys' })
      await expect(table.getByRole('row').nth(1)).toContainText('the very last')

      // The oldest key is on the last page, and search finds it by name.
      await page.getByRole('button', { name: 'Next page' }).click()
      await expect(row(page, 'the very last')).toHaveCount(0)
      await expect(row(page, 'crowd ').first()).toBeVisible()
      await page.getByRole('searchbox', { name: 'Find by name' }).fill('crowd 1200')
      await expect(page.getByRole('heading', { name: '1 key', exact: true })).toBeVisible()
      await row(page, 'crowd 1200').click()
      await expect(page.getByRole('dialog')).toContainText('read:nodes')
      await page.keyboard.press('Escape')

      // The key filter of the audit log finds it as well.
      await open(page, 'audit')
      await page.getByRole('searchbox', { name: 'Find a key' }).fill('crowd 1200')
      await expect(page.getByRole('option', { name: /crowd 1200/ })).toHaveCount(1)
    } finally {
      await control('delete-many')
      await admin.delete(`/workspaces/${crowded.workspace}`)
    }
  },
)
