import { expect, logIn, NASTY, open, row, test } from '../support.ts'

test('an operator is made, changes the password, which ends other sessions, and is deleted', async ({ page, browser, watch }) => {
  watch.allow(/status of 422 .* \/admin\/api\/operators$/)
  await open(page, 'account')
  const add = async (name: string) => {
    await page.getByRole('button', { name: 'New operator' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'Make operator' }).click()
  }
  await add(NASTY.slice(0, 60))
  await expect(page.getByRole('dialog').getByRole('alert')).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await add('ana')
  const password = (await page.locator('[data-secret=password]').innerText()).trim()
  await page.getByRole('button', { name: 'I have kept it' }).click()
  await expect(row(page, 'ana')).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(password)

  const windows = await Promise.all(
    [1, 2].map(async () => (await browser.newContext({ storageState: { cookies: [], origins: [] } })).newPage()),
  )
  const [one, other] = windows as [typeof page, typeof page]
  for (const window of windows) {
    await open(window, 'account')
    await logIn(window, 'ana', password)
    await expect(window.getByRole('heading', { level: 1, name: 'Account' })).toBeVisible()
  }
  const change = async (current: string, fresh: string, again = fresh) => {
    await one.getByLabel('Current password').fill(current)
    await one.getByLabel('New password', { exact: true }).fill(fresh)
    await one.getByLabel('New password again').fill(again)
    await one.getByRole('button', { name: 'Change password' }).click()
  }
  await change(password, 'short', 'shorter')
  await expect(one.getByText('At least 12 characters', { exact: true })).toBeVisible()
  await expect(one.getByText('It is not the same')).toBeVisible()
  await change('not it at all', 'a horse on a staple')
  await expect(one.getByRole('alert')).toBeVisible()
  await change(password, 'a horse on a staple')
  await expect(one.getByRole('heading', { name: 'Log in' })).toBeVisible()
  // The other window notices at its next request.
  await other.getByRole('link', { name: 'Keys', exact: true }).click()
  await expect(other.getByRole('heading', { name: 'Log in' })).toBeVisible()
  await logIn(one, 'ana', password)
  await expect(one.getByRole('alert')).toContainText('Name or password is wrong')
  await logIn(one, 'ana', 'a horse on a staple')
  await expect(one.getByRole('heading', { level: 1 }).first()).not.toHaveText('Log in')

  await page.getByRole('button', { name: 'Delete ana' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
  await expect(row(page, 'ana')).toHaveCount(0)
  await one.getByRole('link', { name: 'Audit log' }).click()
  await expect(one.getByRole('heading', { name: 'Log in' })).toBeVisible()
  for (const window of windows) await window.context().close()
})
