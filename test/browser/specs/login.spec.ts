import { Admin } from '../admin.ts'
import { expect, FIRST, logIn, open, SESSION, test, URL_OF } from '../support.ts'

test.use({ storageState: { cookies: [], origins: [] } })

test('shows an error for a wrong password and returns to the requested page after login', async ({
  page,
  watch,
}) => {
  await open(page, 'keys')
  await expect(page.getByText('Log in to see that page.')).toBeVisible()
  await logIn(page, FIRST.AdminUser, 'not the password')
  await expect(page.getByRole('alert')).toContainText('Name or password is wrong')
  await expect(page.getByLabel('Password')).toHaveValue('')
  await logIn(page, FIRST.AdminUser, FIRST.AdminPassword)
  await expect(page.getByRole('heading', { level: 1, name: 'Keys' })).toBeVisible()
  await expect(page).toHaveURL(`${URL_OF}/admin/keys`)
  watch.check()

  await page.getByRole('button', { name: FIRST.AdminUser, exact: true }).click()
  await page.getByRole('menuitem', { name: 'Log out' }).click()
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  await page.goto('/admin/workspaces')
  await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
})

test.describe('too many login attempts from one address', () => {
  test.use({ extraHTTPHeaders: { 'X-Forwarded-For': '203.0.113.77' } })

  test('shows how long to wait', { tag: '@full' }, async ({ page, watch }) => {
    watch.allow(/status of 429/)
    await open(page, 'login')
    // The limit is ten attempts in five minutes. The window may end during the test.
    const wait = page.getByRole('button', { name: /^Wait \d+ s$/ })
    const wrong = page.getByText('Name or password is wrong')
    for (let tries = 0; tries < 25 && !(await wait.isVisible()); tries++) {
      await logIn(page, FIRST.AdminUser, `wrong ${tries}`)
      await expect(page.getByLabel('Password')).toHaveValue('')
      await expect(wait.or(wrong)).toBeVisible()
    }
    await expect(page.getByRole('alert')).toContainText('Too many attempts')
    await expect(wait).toBeDisabled()
  })
})

test('stores the session in an HttpOnly cookie with a new value after each login', async ({
  page,
  context,
}) => {
  await open(page, 'login')
  const ids = new Set<string>()
  for (let i = 0; i < 2; i++) {
    await logIn(page, FIRST.AdminUser, FIRST.AdminPassword)
    await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
    const cookies = await context.cookies()
    expect(cookies).toHaveLength(1)
    expect(cookies[0]).toMatchObject({ name: 'livegraph_session', httpOnly: true, sameSite: 'Strict' })
    ids.add(cookies[0]?.value ?? '')
    expect(await page.evaluate(() => document.cookie)).toBe('')
    await page.getByRole('button', { name: FIRST.AdminUser, exact: true }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await expect(page.getByRole('heading', { name: 'Log in' })).toBeVisible()
  }
  expect(ids.size).toBe(2)
})

test.describe('with a session', () => {
  test.use({ storageState: SESSION })

  test('refuses a write without a valid CSRF token', async ({ page }) => {
    const body = { name: 'forged', mode: 'live', plan: 'starter' }
    const plain = await page.request.post('/admin/api/workspaces', { data: body })
    expect(plain.status()).toBe(403)
    const guessed = await page.request.post('/admin/api/workspaces', {
      data: body,
      headers: { 'X-CSRF-Token': 'A'.repeat(43) },
    })
    expect(guessed.status()).toBe(403)
    const list = await page.request.get('/admin/api/workspaces')
    expect(await list.text()).not.toContain('forged')
  })

  test('refuses the session cookie on the API and an API key on the admin API', async ({
    page,
    playwright,
  }) => {
    expect((await page.request.get('/api/me')).status()).toBe(401)
    const bare = await playwright.request.newContext({
      baseURL: URL_OF,
      storageState: { cookies: [], origins: [] },
    })
    const answer = await bare.get('/admin/api/keys', {
      headers: { Authorization: `Bearer ${FIRST.AdminKey}` },
    })
    expect(answer.status()).toBe(401)
    await bare.dispose()
  })
})

test('continues after a login in another tab', { tag: '@full' }, async ({ page, context, watch }) => {
  // A request may still use the cookie that a login replaces.
  watch.allow(/status of 403 .* \/admin\/api\/workspaces$/, /status of 401 .* \/admin\/api\/\w+$/)
  await open(page, 'workspaces')
  await logIn(page, FIRST.AdminUser, FIRST.AdminPassword)
  const make = async (name: string) => {
    await page.getByRole('button', { name: 'New workspace', exact: true }).click()
    const form = page.getByRole('dialog', { name: 'New workspace' })
    await form.getByLabel('Name').fill(name)
    await form.getByRole('button', { name: 'Create workspace' }).click()
    return page.getByRole('dialog', { name })
  }
  // A second login, as in another tab.
  const again = await context.request.post('/admin/api/session', {
    data: { name: FIRST.AdminUser, password: FIRST.AdminPassword },
  })
  expect(again.status()).toBe(200)
  let underWay = true
  await page.route('**/admin/api/workspaces', async (route) => {
    if (!underWay || route.request().method() !== 'GET') return await route.fallback()
    underWay = false
    await route.fulfill({ status: 401, json: { success: false, error: { code: 'AUTHENTICATION_ERROR' } } })
  })
  const made = await make('After a second login')
  await expect(made).toBeVisible()
  await expect.poll(() => underWay, 'the list is asked for again').toBe(false)
  await expect(made).toBeVisible()

  // After a login as another operator, the action is not silently executed in that operator's name.
  const admin = await Admin.withSession(context.request)
  const { password } = await admin.post<{ password: string }>('/operators', { name: 'second.tab' })
  const switched = await context.request.post('/admin/api/session', {
    data: { name: 'second.tab', password },
  })
  expect(switched.status()).toBe(200)
  await page.keyboard.press('Escape')
  const refused = await make('In whose name')
  await expect(page.getByRole('alert')).toContainText('second.tab')
  await expect(refused).toHaveCount(0)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('button', { name: 'second.tab', exact: true })).toBeVisible()
  const list = await context.request.get('/admin/api/workspaces')
  expect(await list.text()).not.toContain('In whose name')
  const own = await Admin.logIn(context.request)
  const { data } = (await list.json()) as { data: { id: string; name: string }[] }
  for (const one of data.filter(({ name }) => name === 'After a second login'))
    await own.delete(`/workspaces/${one.id}`)
  const operators = (await (await context.request.get('/admin/api/operators')).json()) as {
    data: { id: string; name: string }[]
  }
  for (const one of operators.data.filter(({ name }) => name === 'second.tab'))
    await own.delete(`/operators/${one.id}`)
})
