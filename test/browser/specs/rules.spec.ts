// Files of rules: created, edited and deleted on the page.

import type { Locator, Page } from '@playwright/test'

import {
  addAlertmanager,
  edit,
  FILE,
  names,
  openRules,
  PUBLIC,
  put,
  STORED,
  stored,
  test,
  textOf,
} from '../rules.ts'
import {
  call,
  clippedTables,
  expect,
  faults,
  open,
  overflowWidth,
  picture,
  row,
  statusOf,
} from '../support.ts'

/**
 * Waits until a dialog below another one gets no more key presses: it handles Escape until it is rendered again after
 * the other one has opened.
 */
async function waitUntilCovered(dialog: Locator): Promise<void> {
  await expect(dialog).toHaveCSS('pointer-events', 'none')
  await dialog.evaluate(() => new Promise((idle) => requestIdleCallback(idle)))
}

/** Returns the selected text of a textarea. */
const selection = (area: Locator): Promise<string> =>
  area.evaluate((one: HTMLTextAreaElement) => one.value.slice(one.selectionStart, one.selectionEnd))

test('creates a file that begins with a working example', async ({ page, tenant, watch }) => {
  watch.allow(/status of 409 .*\/rules\/machines/)
  await openRules(page, tenant)
  await page.getByRole('button', { name: 'New file' }).click()
  const form = page.getByRole('dialog', { name: 'New file of rules' })
  await expect(form.getByLabel('Name')).toBeFocused()

  // A name that no file can have is refused before anything is sent.
  await form.getByLabel('Name').fill('my rules')
  await form.getByRole('button', { name: 'Create file' }).click()
  await expect(form.getByRole('alert')).toContainText('letters, digits, dots, hyphens and underscores')
  await form.getByLabel('Name').fill('machines')
  await expect(form.getByRole('alert')).toHaveCount(0)

  // A check stores nothing.
  await form.getByRole('button', { name: 'Check' }).click()
  await expect(form.getByRole('status')).toContainText('1 group, 2 rules')
  expect(await names(tenant)).toEqual([])

  await form.getByRole('button', { name: 'Create file' }).click()
  await expect(page.getByText('File created')).toBeVisible()
  await expect(form).toHaveCount(0)
  await expect(row(page, 'machines')).toContainText('2')
  expect(await stored(tenant, '/api/rules/machines')).toContain('alert: Hot')

  // A second file of this name would replace the first one.
  await page.getByRole('button', { name: 'New file' }).click()
  await form.getByLabel('Name').fill('machines')
  await textOf(form).fill(STORED)
  await form.getByRole('button', { name: 'Create file' }).click()
  await expect(form.getByRole('alert')).toContainText('There is already a file of this name')
  expect(await stored(tenant, '/api/rules/machines')).toContain('alert: Hot')
})

test('shows errors of a file beside their lines and changes nothing', async ({ page, tenant, watch }) => {
  watch.allow(/status of 4(00|22) .*\/rules\/pumps/)
  const form = await edit(page, tenant)
  const area = textOf(form)
  const marks = form.locator('.alerts-code-mark')
  await area.fill(STORED.replace('max(pressure)', 'max(pressure').replace('> 8', '> > 8'))
  await form.getByRole('button', { name: 'Save' }).click()
  const alert = form.getByRole('alert')
  await expect(alert).toContainText('2 errors; nothing was changed')
  await expect(alert).toContainText(/Line 6.*unclosed left parenthesis/)
  await expect(alert).toContainText(/Line 8.*unexpected/)
  await expect(marks).toHaveCount(2)
  await expect(area).toHaveAttribute('aria-invalid', 'true')
  await expect(area).toHaveAccessibleDescription(/unclosed left parenthesis/)
  expect(await stored(tenant)).toBe(STORED)

  // The button of an error selects its line. Typing there removes the error, and lines above it move it.
  await alert.getByRole('button', { name: 'Line 8' }).click()
  await expect(area).toBeFocused()
  expect(await selection(area)).toBe('        expr: pressure:max > > 8')
  await page.keyboard.type('        expr: pressure:max > 8')
  await expect(marks).toHaveCount(1)
  await page.keyboard.press('Control+Home')
  await page.keyboard.type('# reviewed')
  await page.keyboard.press('Enter')
  await alert.getByRole('button', { name: 'Line 7' }).click()
  expect(await selection(area)).toBe('        expr: max(pressure')
  await page.keyboard.type('        expr: max(pressure)')
  await expect(alert).toHaveCount(0)
  await form.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('File saved')).toBeVisible()
  expect(await stored(tenant)).toBe(`# reviewed\n${STORED}`)

  // A text that is not YAML.
  await page.getByRole('dialog', { name: 'pumps', exact: true }).getByRole('button', { name: 'Edit' }).click()
  await area.fill('groups:\n  - name: [')
  await form.getByRole('button', { name: 'Check' }).click()
  await expect(alert).toContainText('1 error')
  expect(await stored(tenant)).toBe(`# reviewed\n${STORED}`)
})

test(
  'scrolls to the first error of a long file, and the line numbers with it',
  { tag: '@full' },
  async ({ page, tenant, watch }) => {
    watch.allow(/status of 422 .*\/rules\/pumps/)
    const rule = (i: number) => `      - record: pressure:max${i}\n        expr: max(pressure${i})\n`
    const rules = Array.from({ length: 200 }, (_, i) => rule(i))
    const text = `groups:\n  - name: pumps\n    rules:\n${rules.join('')}`
    const form = await edit(page, tenant, text)
    const area = textOf(form)
    await area.fill(text.replace('max(pressure190)', `max(pressure190 ${'+ pressure '.repeat(40)}`))
    await area.evaluate((one) => one.scrollTo(0, 0))
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form.getByRole('alert')).toContainText('Line 385')
    const mark = form.locator('.alerts-code-mark')
    await expect(mark).toBeInViewport({ ratio: 1 })
    // The mark is beside the line: as far below the top of the text as the line.
    const distance = () =>
      area.evaluate((one) => {
        const mark = document.querySelector('.alerts-code-mark')
        if (!mark) throw new Error('there is no mark')
        const { lineHeight, paddingTop } = getComputedStyle(one)
        const top = one.getBoundingClientRect().top + parseFloat(paddingTop) - one.scrollTop
        return Math.abs(mark.getBoundingClientRect().top - top - 384 * parseFloat(lineHeight))
      })
    expect(await distance()).toBeLessThan(2)
    await picture(page, 'rules-long')
    await area.evaluate((one) => one.scrollBy(0, -60))
    await expect.poll(distance).toBeLessThan(2)
  },
)

test('edits a file with the keyboard only', { tag: '@full' }, async ({ page, tenant }) => {
  const form = await edit(page, tenant)
  const area = textOf(form)
  await expect(area).toBeFocused()
  // Tab leaves the text, and does not change it.
  await page.keyboard.press('Tab')
  await expect(form.getByRole('button', { name: 'Cancel' })).toBeFocused()
  await page.keyboard.press('Shift+Tab')
  await expect(area).toBeFocused()
  await expect(area).toHaveValue(STORED)

  await page.keyboard.press('Control+End')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('End')
  await page.keyboard.press('Enter')
  await page.keyboard.type('for: 5m')
  const changed = STORED.replace('> 8\n', '> 8\n        for: 5m\n')
  await expect(area).toHaveValue(changed)
  // The indentation can be undone like typed text.
  for (let i = 0; i < '\nfor: 5m'.length; i++) await page.keyboard.press('Control+z')
  await expect(area).toHaveValue(STORED)
  await page.keyboard.press('Enter')
  await page.keyboard.type('for: 5m')
  await expect(area).toHaveValue(changed)

  // Escape does not lose the text.
  await page.keyboard.press('Escape')
  const leave = page.getByRole('dialog', { name: 'Discard your changes?' })
  await expect(leave).toBeFocused()
  await page.keyboard.press('Tab')
  await page.keyboard.press('Tab')
  await expect(leave.getByRole('button', { name: 'Cancel' })).toBeFocused()
  await page.keyboard.press('Enter')
  await expect(leave).toHaveCount(0)
  await expect(area).toBeFocused()
  await page.keyboard.press('Control+Enter')
  await expect(page.getByText('File saved')).toBeVisible()
  await expect(form).toHaveCount(0)
  expect(await stored(tenant)).toBe(changed)
  const details = page.getByRole('dialog', { name: 'pumps', exact: true })
  await expect(details.getByRole('region', { name: 'Rules' })).toContainText('for: 5m')
  const editButton = details.getByRole('button', { name: 'Edit' })
  await expect(editButton).toBeFocused()

  // Without changes Escape closes at once; with changes after a confirmation.
  const covered = page.locator('.dialog-side')
  await page.keyboard.press('Enter')
  await expect(area).toBeFocused()
  await waitUntilCovered(covered)
  await page.keyboard.press('Escape')
  await expect(form).toHaveCount(0)
  await expect(editButton).toBeFocused()
  await page.keyboard.press('Enter')
  await area.fill('lost')
  await waitUntilCovered(covered)
  await page.keyboard.press('Escape')
  await leave.getByRole('button', { name: 'Discard changes' }).click()
  await expect(form).toHaveCount(0)
  await expect(editButton).toBeFocused()
  expect(await stored(tenant)).toBe(changed)
})

test(
  'reports a concurrent change and does not overwrite it',
  { tag: '@full' },
  async ({ page, tenant, watch }) => {
    watch.allow(/status of (409|404) .*\/rules\/pumps/)
    const form = await edit(page, tenant)
    const area = textOf(form)
    const mine = STORED.replace('> 8', '> 9')
    const theirs = STORED.replace('interval: 1m', 'interval: 2m')
    await put(tenant, theirs)
    await area.fill(mine)
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form).toContainText('Somebody else changed this file')
    const difference = form.getByRole('region', { name: 'Changes from line 3' })
    await expect(difference.getByRole('deletion')).toContainText('interval: 1m')
    await expect(difference.getByRole('insertion')).toContainText('interval: 2m')
    await expect(area).toHaveValue(mine)
    await expect(form.getByRole('button', { name: 'Save' })).toBeDisabled()
    await page.keyboard.press('Control+Enter')
    expect(await stored(tenant)).toBe(theirs)

    // Their text replaces mine.
    await form.getByRole('button', { name: 'Load the stored version' }).click()
    await expect(area).toHaveValue(theirs)
    await expect(form).not.toContainText('Somebody else')

    // My text replaces theirs, after a review.
    await put(tenant, STORED)
    await area.fill(mine)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByRole('button', { name: 'Overwrite their changes' }).click()
    expect(await stored(tenant)).toBe(STORED)
    await expect(area).toHaveValue(mine)

    // A change that is stored while the request is on its way is not overwritten either.
    const later = STORED.replace('interval: 1m', 'interval: 3m')
    await page.route('**/admin/api/rules/pumps', async (route) => {
      if (route.request().method() === 'PUT') await put(tenant, later)
      await route.continue()
    })
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form.getByRole('insertion')).toContainText('interval: 3m')
    await expect(area).toHaveValue(mine)
    expect(await stored(tenant)).toBe(later)
    await page.unroute('**/admin/api/rules/pumps')
    await form.getByRole('button', { name: 'Overwrite their changes' }).click()
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(page.getByText('File saved')).toBeVisible()
    expect(await stored(tenant)).toBe(mine)

    // The details close when a file is deleted, but the editor stays.
    const details = page.getByRole('dialog', { name: 'pumps', exact: true })
    await expect(details.getByRole('region', { name: 'Rules' })).toContainText('> 9')
    await details.getByRole('button', { name: 'Edit' }).click()
    await call(tenant, 'DELETE', FILE)
    await expect(details).toHaveCount(0)
    await area.fill(theirs)
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form).toContainText('Somebody else deleted this file')
    expect(await statusOf(tenant, FILE)).toBe(404)
    await form.getByRole('button', { name: 'Create it again' }).click()
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(form).toHaveCount(0)
    expect(await stored(tenant)).toBe(theirs)
  },
)

test('deletes a file after a confirmation', async ({ page, tenant }) => {
  await put(tenant, STORED)
  await openRules(page, tenant)
  await row(page, 'pumps').click()
  const details = page.getByRole('dialog', { name: 'pumps', exact: true })
  const confirm = page.getByRole('dialog', { name: 'Delete this file?' })
  await details.getByRole('button', { name: 'Delete' }).click()
  await expect(confirm).toContainText('The 2 rules of pumps are no longer evaluated')
  await confirm.getByRole('button', { name: 'Cancel' }).click()
  expect(await stored(tenant)).toBe(STORED)
  await details.getByRole('button', { name: 'Delete' }).click()
  await confirm.getByRole('button', { name: 'Delete file' }).click()
  await expect(page.getByText('File deleted')).toBeVisible()
  await expect(page.getByText('No rules yet')).toBeVisible()
  expect(await statusOf(tenant, FILE)).toBe(404)
})

/** Checks what is shown, and takes a screenshot. */
async function look(page: Page, name: string): Promise<void> {
  expect.soft(await faults(page), name).toEqual([])
  expect.soft(await overflowWidth(page), name).toBeLessThanOrEqual(0)
  expect.soft(await clippedTables(page), name).toEqual([])
  await picture(page, name)
}

for (const [name, use, tag] of [
  ['light', { colorScheme: 'light' }, {}],
  ['dark', { colorScheme: 'dark' }, { tag: '@full' }],
  ['phone', { viewport: { width: 360, height: 780 }, hasTouch: true }, { tag: '@full' }],
] as const) {
  test.describe(name, tag, () => {
    test.use({ ...use, contextOptions: { reducedMotion: 'reduce' } })
    test(
      'has no accessibility violations and fits the window',
      { tag: '@full' },
      async ({ page, tenant, watch }) => {
        watch.allow(/status of (409|422)/)
        await openRules(page, tenant)
        await look(page, `rules-none-${name}`)
        await page.getByRole('button', { name: 'New file' }).click()
        await look(page, `rules-new-${name}`)
        await page.getByRole('button', { name: 'Check' }).click()
        await expect(page.getByText('No errors')).toBeVisible()
        await page.getByText('No errors').scrollIntoViewIfNeeded()
        await look(page, `rules-checked-${name}`)

        const form = await edit(page, tenant)
        await textOf(form).fill(STORED.replace('max(pressure)', 'max(pressure').replace('> 8', '> > 8'))
        await form.getByRole('button', { name: 'Save' }).click()
        await form.getByRole('alert').scrollIntoViewIfNeeded()
        await expect(form.getByRole('alert')).toContainText('2 errors')
        await look(page, `rules-errors-${name}`)
        await put(tenant, STORED.replace('interval: 1m', 'interval: 2m'))
        await textOf(form).fill(STORED.replace('> 8', '> 9'))
        await form.getByRole('button', { name: 'Save' }).click()
        await expect(form).toContainText('Somebody else changed this file')
        await look(page, `rules-conflict-${name}`)

        await openRules(page, tenant)
        await look(page, `rules-list-${name}`)
        await row(page, 'pumps').click()
        await expect(page.getByRole('dialog')).toContainText('pressure:max')
        await look(page, `rules-details-${name}`)
        await page.getByRole('button', { name: 'Delete' }).click()
        await look(page, `rules-delete-${name}`)

        const addresses = await addAlertmanager(page, tenant)
        await addresses.getByLabel('Address 1', { exact: true }).fill('http://10.0.0.5:9093')
        await addresses.getByRole('button', { name: 'Save' }).click()
        await expect(addresses.getByRole('alert')).toBeVisible()
        await look(page, `rules-alertmanagers-refused-${name}`)
        await call(tenant, 'PUT', '/api/alertmanagers', {
          alertmanagers: [
            { url: PUBLIC, authorization: { type: 'basic', username: 'livegraph', password: 'p' } },
            {
              url: 'https://alerts.example.org:9093/prefix',
              authorization: { type: 'bearer', token: 't' },
              headers: [{ name: 'X-Scope-OrgID', value: '1' }],
            },
          ],
        })
        await open(page, 'alerts/alertmanagers', tenant.workspace)
        await expect(row(page, PUBLIC)).toBeVisible()
        await look(page, `rules-alertmanagers-${name}`)
        await page.getByRole('button', { name: 'Edit', exact: true }).click()
        await expect(addresses.getByLabel('Token 2')).toBeVisible()
        await look(page, `rules-alertmanagers-edit-${name}`)
      },
    )
  })
}
