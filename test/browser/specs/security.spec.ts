import { call, CONTROL, expect, FIRST, NASTY, open, row, seed, test, URL_OF } from '../support.ts'

/** A prefix that is short enough to be visible everywhere. */
const PART = NASTY.slice(0, 30)

test('renders user input as text on every page', async ({ page }) => {
  test.setTimeout(240_000)
  const { workspace, node, source, document } = seed().nasty
  const shown = async (of = page.locator('main')) => expect(of.getByText(PART).first()).toBeVisible()

  await open(page, 'workspaces')
  await row(page, PART).click()
  await shown(page.getByRole('dialog'))
  await page.getByRole('dialog').getByRole('button', { name: 'Change' }).click()
  await expect(page.getByRole('dialog', { name: 'Change workspace' }).getByLabel('Name')).toHaveValue(NASTY)
  await open(page, `keys?workspaceId=${workspace}`)
  await row(page, PART).first().click()
  await shown(page.getByRole('dialog'))
  await open(page, `audit?workspaceId=${workspace}`)
  await row(page, PART).first().click()
  await expect(page.getByRole('dialog')).toContainText('req_')
  await open(page, 'audit?show=operators')
  await expect(row(page, FIRST.AdminUser).first()).toBeVisible()

  await open(page, 'sources', workspace)
  await shown()
  await row(page, PART).first().click()
  await expect(page.getByRole('heading', { level: 1 })).toContainText(PART)
  await shown()
  await page.getByRole('button', { name: 'Edit' }).click()
  await expect(page.getByRole('dialog').getByLabel('Name').first()).toHaveValue(NASTY)
  await open(page, `sources/explore?source=${source}`, workspace)
  await shown()
  await page.getByRole('tab', { name: 'Table' }).click()
  await page.getByRole('tab', { name: 'Command' }).click()

  await open(page, 'documents', workspace)
  await shown()
  await row(page, PART).first().click()
  await shown(page.getByRole('dialog').getByRole('heading', { level: 2 }))
  await shown(page.getByRole('dialog').getByRole('list'))
  await page.getByRole('dialog').getByRole('button', { name: 'Delete…' }).click()
  await shown(page.getByRole('dialog', { name: 'Delete this document?' }))
  await open(page, `documents?id=${document}&externalId=${encodeURIComponent(NASTY)}`, workspace)
  await shown(page.getByRole('dialog'))

  await open(page, `graph?node=${node}`, workspace)
  const side = page.getByRole('complementary', { name: 'About the graph' })
  await expect(page.locator('.graph-count')).toHaveText(/^[1-9]/)
  await side.getByRole('tab', { name: /^Shown/ }).click()
  await side.getByRole('treeitem').first().click()
  await shown(side)
  await side.getByRole('tab', { name: 'Selection' }).click()
  await shown(side)
  await side.getByRole('button', { name: 'Expand' }).click()
  await side.getByRole('button', { name: 'Edit' }).click()
  await expect(page.getByRole('dialog').getByLabel('Name', { exact: true })).toHaveValue(NASTY)
  await page.keyboard.press('Escape')
  await side.getByRole('tab', { name: 'History' }).click()
  await expect(side.getByRole('listitem').first()).toBeVisible()
  await open(page, `search?q=${encodeURIComponent(NASTY)}`, workspace)
  await shown(page.getByRole('region', { name: 'Results' }))

  await open(page, `pipeline/dead-letters?workspaceId=${workspace}`)
  await row(page, 'refused by the store').first().click()
  await expect(page.getByRole('dialog').getByRole('table', { name: 'Series of the record' })).toContainText(
    PART,
  )
  await open(page, 'indexes')
  await shown()
  await open(page, '')
  await page.getByRole('button', { name: /^Workspace:/ }).click()
  await expect(page.getByRole('menuitem').filter({ hasText: PART })).toBeVisible()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+k')
  await expect(page.getByRole('combobox', { name: 'Find a page or an action' })).toBeFocused()
  await page.keyboard.type('onerror')
  await expect(page.getByRole('option').filter({ hasText: PART }).first()).toBeVisible()
  // The login page ignores hostile redirect targets.
  await open(page, `login?next=${encodeURIComponent('javascript:alert(1)')}`)
  await expect(page.getByRole('heading', { level: 1, name: 'Overview' })).toBeVisible()
  await open(page, `login?next=${encodeURIComponent('//example.com/')}`)
  await expect.poll(() => page.url()).toContain(`${URL_OF}/admin`)
  expect(await page.evaluate(() => (window as unknown as { __x?: unknown }).__x)).toBeUndefined()
})

test('renders hostile input as text in operator actions', { tag: '@full' }, async ({ page }) => {
  test.setTimeout(240_000)
  const { workspace, source, key } = seed().nasty
  const dialog = (name: string) => page.getByRole('dialog', { name })

  // Discard a dead letter with a hostile reason.
  await open(page, `pipeline/dead-letters?workspaceId=${workspace}`)
  const letters = page.getByRole('table', { name: 'Dead letters' })
  await row(letters, 'refused by the store').first().click()
  await dialog('Dead letter').getByRole('button', { name: 'Discard…' }).click()
  await expect(dialog('Discard dead letters')).toContainText('1 dead letter would be')
  await dialog('Discard dead letters')
    .getByLabel(/^Reason/)
    .fill(NASTY)
  await dialog('Discard dead letters').getByRole('button', { name: 'Discard 1 dead letter' }).click()
  await expect(dialog('Discard dead letters').getByText(/^1 dead letter discarded/)).toBeVisible()
  await dialog('Discard dead letters').getByRole('button', { name: 'Close' }).last().click()
  await expect(dialog('Dead letter')).toContainText(NASTY)
  await page.keyboard.press('Escape')
  await page.getByRole('radio', { name: 'Discarded' }).check()
  await row(letters, 'refused by the store').first().click()
  await expect(dialog('Dead letter')).toContainText(NASTY)
  await page.keyboard.press('Escape')
  await page.getByRole('searchbox', { name: 'Reason contains' }).fill(NASTY)
  await expect(page.getByText('No matching dead letters')).toBeVisible()

  // Cancel a replay of the workspace with the hostile name. At one row per second it is still running.
  const points = Array.from({ length: 300 }, (_, i) => ({
    metric: NASTY,
    timestamp: Date.now() - i * 1000,
    value: i,
  }))
  await call({ workspace, key }, 'POST', '/api/live-data/ingest', { sourceId: source, points })
  await open(page, 'pipeline/replays')
  await page.getByRole('button', { name: 'Start a replay' }).first().click()
  const start = dialog('Start a replay')
  await start.getByLabel('Workspace').selectOption(workspace)
  await start.getByLabel(/^Rows a second/).fill('1')
  await start.getByRole('button', { name: 'Show the plan' }).click()
  await start.getByRole('button', { name: /^Replay [\d,]+ records?$/ }).click()
  await expect(dialog('Replay of points')).toContainText(PART)
  await dialog('Replay of points').getByRole('button', { name: 'Cancel the replay…' }).click()
  await dialog('Cancel this replay?').getByRole('button', { name: 'Cancel the replay' }).click()
  await expect(dialog('Replay of points')).toContainText('cancelled')
  await page.keyboard.press('Escape')
  await expect(row(page, PART).first()).toBeVisible()

  // Delete the points of a metric with a hostile name.
  await open(page, `sources/${source}`, workspace)
  await expect(row(page, `text ${PART}`).first()).toBeVisible()
  await page.getByRole('button', { name: 'More' }).click()
  await page.getByRole('menuitem', { name: 'Delete points…' }).click()
  await dialog('Delete points').getByRole('radio', { name: 'One metric' }).check()
  await dialog('Delete points')
    .getByLabel(/^Metric/)
    .fill(`text ${NASTY}`)
  await dialog('Delete points').getByRole('radio', { name: 'All time' }).check()
  await dialog('Delete points').getByLabel(/^Type/).fill(source)
  await dialog('Delete points').getByRole('button', { name: 'Delete these points' }).click()
  await expect(page.getByText('Points deleted')).toBeVisible()
  const left = async () => {
    const path = `/api/live-data/query?from=-1d&sourceId=${source}&metric=${encodeURIComponent(`text ${NASTY}`)}`
    const series = await call<{ points: unknown[] }[]>({ workspace, key }, 'GET', path)
    return series.reduce((sum, one) => sum + one.points.length, 0)
  }
  await expect.poll(left).toBe(0)

  // The audit log contains these actions.
  await open(page, 'audit?show=operators')
  for (const route of ['/dead-letters/discard', '/replays/{id}', '/live-data/points']) {
    await row(page, route).first().click()
    await expect(page.getByRole('dialog')).toContainText('req_')
    await page.keyboard.press('Escape')
  }
})

test('sends security headers, and other origins cannot frame the admin UI', async ({ page, browser }) => {
  for (const path of ['/admin', '/admin/', '/admin/keys', '/admin/api/session']) {
    const answer = await page.request.get(path)
    const headers = answer.headers()
    expect(headers['content-security-policy'], path).toContain("frame-ancestors 'none'")
    expect(headers['content-security-policy'], path).toContain("default-src 'self'")
    expect(headers['content-security-policy'], path).not.toContain('unsafe')
    expect(headers['x-frame-options'], path).toBe('DENY')
    expect(headers['x-content-type-options'], path).toBe('nosniff')
    expect(headers['referrer-policy'], path).toBe('no-referrer')
    expect(headers['cross-origin-opener-policy'], path).toBe('same-origin')
  }
  const trap = await (await browser.newContext()).newPage()
  const refused = trap.waitForEvent('console', (message) =>
    /frame-ancestors|X-Frame-Options|Refused to/.test(message.text()),
  )
  await trap.goto(`${CONTROL}/frame?of=${encodeURIComponent(URL_OF)}`)
  await refused
  for (const frame of trap.frames().slice(1)) expect(await frame.content()).not.toContain('id="root"')
  await trap.context().close()
})

test('blocks injected scripts', async ({ page, watch }) => {
  watch.allow(/Content Security Policy|Refused to|violates/)
  await open(page, '')
  await expect(page.getByText(/up for/)).toBeVisible()
  const ran = await page.evaluate(async () => {
    const told = new Promise<string>((done) =>
      document.addEventListener('securitypolicyviolation', (e) => done(e.effectiveDirective), { once: true }),
    )
    const script = document.createElement('script')
    script.textContent = 'window.__ran = true'
    document.body.append(script)
    return { violated: await told, ran: '__ran' in window }
  })
  expect(ran).toEqual({ violated: 'script-src-elem', ran: false })
})
