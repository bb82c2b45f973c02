import { expect, FIRST, logIn, NASTY, open, row, test } from '../support.ts'

test('creates and deletes an operator; a password change ends all its sessions', async ({
  page,
  browser,
  watch,
}) => {
  watch.allow(/status of 422 .* \/admin\/api\/operators$/)
  await open(page, 'account')
  const add = async (name: string) => {
    await page.getByRole('button', { name: 'New operator' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill(name)
    await page.getByRole('dialog').getByRole('button', { name: 'Create operator' }).click()
  }
  await add(NASTY.slice(0, 60))
  await expect(page.getByRole('dialog').getByRole('alert')).toBeVisible()
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  await add('ana')
  const password = (await page.locator('[data-secret=password]').innerText()).trim()
  await page.getByRole('button', { name: 'I have saved it' }).click()
  await expect(row(page, 'ana')).toBeVisible()
  expect(await page.evaluate(() => document.documentElement.outerHTML)).not.toContain(password)

  const windows = await Promise.all(
    [1, 2].map(async () =>
      (await browser.newContext({ storageState: { cookies: [], origins: [] } })).newPage(),
    ),
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
  await expect(one.getByText('The passwords do not match')).toBeVisible()
  await change('not it at all', 'a horse on a staple')
  await expect(one.getByRole('alert')).toBeVisible()
  await change(password, 'a horse on a staple')
  await expect(one.getByRole('heading', { name: 'Log in' })).toBeVisible()
  // The other window shows the login page after its next request.
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

test(
  'resets the password of another operator and shows the new password once',
  { tag: '@full' },
  async ({ page, browser, watch }) => {
    watch.allow(/status of 422 .* \/admin\/api\/operators\/[^/]+\/password$/)
    await open(page, 'account')
    await page.getByRole('button', { name: 'New operator' }).click()
    await page.getByRole('dialog').getByLabel('Name').fill('ben')
    await page.getByRole('dialog').getByRole('button', { name: 'Create operator' }).click()
    const shown = async () => (await page.locator('[data-secret=password]').innerText()).trim()
    const first = await shown()
    await page.getByRole('button', { name: 'I have saved it' }).click()
    const window = await (await browser.newContext({ storageState: { cookies: [], origins: [] } })).newPage()
    await open(window, 'keys')
    await logIn(window, 'ben', first)
    await expect(window.getByRole('heading', { level: 1, name: 'Keys' })).toBeVisible()

    await expect(row(page, FIRST.AdminUser).getByRole('button')).toHaveCount(0)
    await page.getByRole('button', { name: 'Reset the password of ben' }).click()
    const dialog = page.getByRole('dialog')
    await expect(dialog.getByLabel('Your own password')).toBeFocused()
    await expect(dialog.getByRole('button', { name: 'Reset password' })).toBeDisabled()
    await dialog.getByLabel('Your own password').fill(first)
    await dialog.getByRole('button', { name: 'Reset password' }).click()
    await expect(dialog.getByRole('alert')).toContainText('Wrong password')
    await dialog.getByLabel('Your own password').fill(FIRST.AdminPassword)
    await page.keyboard.press('Enter')
    await expect(dialog).toContainText('The password is shown once')
    const second = await shown()
    expect(second).not.toBe(first)
    await page.keyboard.press('Escape')
    await expect(dialog).toContainText('The password is shown once')
    await dialog.getByRole('button', { name: 'I have saved it' }).click()
    await expect(dialog).toHaveCount(0)
    for (const secret of [second, FIRST.AdminPassword])
      expect(
        await page.evaluate(() => document.documentElement.outerHTML + JSON.stringify({ ...localStorage })),
      ).not.toContain(secret)

    await window.getByRole('link', { name: 'Audit log' }).click()
    await expect(window.getByRole('heading', { name: 'Log in' })).toBeVisible()
    await logIn(window, 'ben', first)
    await expect(window.getByRole('alert')).toContainText('Name or password is wrong')
    await logIn(window, 'ben', second)
    await expect(window.getByRole('heading', { level: 1, name: 'Audit log' })).toBeVisible()
    await window.context().close()

    await open(page, 'audit?show=operators')
    await expect(row(page, '/operators/{id}/password').filter({ hasText: '200' })).toBeVisible()
    await open(page, 'account')
    await page.getByRole('button', { name: 'Delete ben' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
    await expect(row(page, 'ben')).toHaveCount(0)
  },
)
