// Tests the session over TLS, on the server's own listener.

import { control, expect, FIRST, logIn, open, test } from '../support.ts'

test('uses a session cookie with the __Host- prefix over TLS', async ({ browser }) => {
  const { url } = await control<{ url: string }>('start-tls')
  expect(url).toMatch(/^https:/)
  // The browser does not trust the certificate authority of the tests.
  const context = await browser.newContext({
    ignoreHTTPSErrors: true,
    baseURL: url,
    storageState: { cookies: [], origins: [] },
  })
  const page = await context.newPage()
  await page.goto('/admin/keys')
  await logIn(page, FIRST.AdminUser, FIRST.AdminPassword)
  await expect(page.getByRole('heading', { level: 1, name: 'Keys' })).toBeVisible()
  const cookies = await context.cookies()
  expect(cookies).toHaveLength(1)
  expect(cookies[0]).toMatchObject({
    name: '__Host-livegraph_session',
    domain: '127.0.0.1',
    path: '/',
    secure: true,
    httpOnly: true,
    sameSite: 'Strict',
  })
  expect(await page.evaluate(() => document.cookie)).toBe('')

  // A cookie without the prefix, which another host could set without TLS, is not a session.
  const value = cookies[0]?.value ?? ''
  const status = async () => (await context.request.get('/admin/api/session')).status()
  expect(await status()).toBe(200)
  await context.clearCookies()
  await context.addCookies([{ name: 'livegraph_session', value, url }])
  expect(await status()).toBe(401)
  await context.addCookies([{ name: '__Host-livegraph_session', value, url, secure: true }])
  expect(await status()).toBe(200)

  // Writes work, and a logout removes the cookie.
  await page.goto('/admin/account')
  await page.getByRole('button', { name: 'Log out' }).click()
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  expect((await context.cookies()).filter((one) => one.name.startsWith('__Host-'))).toEqual([])
  expect(await status()).toBe(401)
  await context.close()
})

test('restricts the session cookie to the admin UI without TLS', async ({ page }) => {
  await open(page, '')
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  const [cookie] = await page.context().cookies()
  expect(cookie).toMatchObject({
    name: 'livegraph_session',
    path: '/admin',
    secure: false,
    httpOnly: true,
    sameSite: 'Strict',
  })
})
