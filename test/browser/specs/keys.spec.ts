import { type Page } from '@playwright/test'

import { expect, open, row, seed, statusOf, test } from '../support.ts'

test.use({ permissions: ['clipboard-read', 'clipboard-write'] })

test('a key is made, shown once, used, rolled and revoked', async ({ page, context }) => {
  const { workspace } = seed().plant
  await open(page, `keys?workspaceId=${workspace}`)
  await page.getByRole('button', { name: 'New key' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByRole('button', { name: 'Make key' }).click()
  await expect(dialog.getByRole('alert')).toContainText('A name says later')
  await dialog.getByLabel('Name').fill('gateway hall 3')
  await dialog.getByRole('radio', { name: 'Read all' }).check()
  await dialog.getByRole('button', { name: 'Make key' }).click()

  await expect(dialog).toContainText('This is shown once')
  const first = await shownKey(page)
  expect(first).toMatch(/^lg_live_[0-9A-Za-z]{38}$/)
  // What would lose it does not close it.
  await page.keyboard.press('Escape')
  await page.mouse.click(5, 5)
  await expect(dialog).toContainText('This is shown once')
  await dialog.getByRole('button', { name: 'Copy' }).first().click()
  await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe(first)
  await dialog.getByRole('button', { name: 'Done' }).click()
  await expect(dialog).toHaveCount(0)
  await page.evaluate(() => navigator.clipboard.writeText(''))
  await expectNowhere(page, first)

  expect(await statusOf({ workspace, key: first }, '/api/queries/nodes')).toBe(200)
  expect(await statusOf({ workspace, key: first }, '/api/admin/usage')).toBe(403)

  await row(page, 'gateway hall 3').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Roll', exact: true }).click()
  await page.getByRole('dialog', { name: 'Roll this key?' }).getByRole('button', { name: 'Roll key' }).click()
  await expect(page.getByRole('dialog', { name: 'The successor' })).toBeVisible()
  const second = await shownKey(page)
  expect(second).not.toBe(first)
  await page.getByRole('button', { name: 'I have kept it' }).click()
  await expect(page.getByRole('dialog', { name: 'The successor' })).toHaveCount(0)
  await expectNowhere(page, second)
  // Both work for the day that the old one has left.
  expect(await statusOf({ workspace, key: first }, '/api/queries/nodes')).toBe(200)
  expect(await statusOf({ workspace, key: second }, '/api/queries/nodes')).toBe(200)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)

  await expect(row(page, 'gateway hall 3')).toHaveCount(2)
  for (const left of [1, 0]) {
    await row(page, 'gateway hall 3').first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke', exact: true }).click()
    await page.getByRole('button', { name: 'Revoke for good' }).click()
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await expect(row(page, 'gateway hall 3')).toHaveCount(left)
  }
  for (const key of [first, second])
    await expect.poll(() => statusOf({ workspace, key }, '/api/queries/nodes')).toBe(401)

  // Nor is it in what the browser would bring back, or show of a page that is gone.
  await page.goBack()
  await page.reload()
  await expect(page.getByRole('heading', { level: 1 })).toBeVisible()
  await expectNowhere(page, first)
  expect(JSON.stringify(await context.storageState({ indexedDB: true }))).not.toContain(second)
})

const shownKey = async (page: Page) => (await page.locator('[data-secret=key]').innerText()).trim()

/** The text of a key is in nothing that outlives its dialog. */
async function expectNowhere(page: Page, key: string): Promise<void> {
  const secret = key.slice(8) // the mode before it says nothing
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
