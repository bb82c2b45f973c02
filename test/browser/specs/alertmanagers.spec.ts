// The list of Alertmanagers: edited on the page.

import { addAlertmanager, PUBLIC, test } from '../rules.ts'
import { call, expect, open, picture, row, type Tenant } from '../support.ts'

const urls = async (of: Tenant): Promise<string[]> =>
  (await call<{ urls: string[] }>(of, 'GET', '/api/alertmanagers')).urls

test('edits the Alertmanagers and shows which address is refused', async ({ page, tenant, watch }) => {
  watch.allow(/status of (409|422) .*\/alertmanagers/)
  const form = await addAlertmanager(page, tenant)
  const address = (n: number) => form.getByLabel(`Address ${n}`, { exact: true })
  await expect(address(1)).toBeFocused()
  await address(1).fill(PUBLIC)
  for (let n = 2; n <= 10; n++) await form.getByRole('button', { name: 'Add an address' }).click()
  await expect(form.getByRole('button', { name: 'Add an address' })).toBeDisabled()
  await expect(address(10)).toBeFocused()
  // The rows before it are empty and not sent.
  await address(10).fill('http://127.0.0.1:9093')
  await form.getByRole('button', { name: 'Save' }).click()
  await expect(address(10)).toHaveAccessibleDescription('must not be the private address 127.0.0.1')
  await expect(form.getByRole('alert')).toHaveCount(1)
  expect(await urls(tenant)).toEqual([])
  await address(10).fill('ftp://alerts.example.com')
  await expect(form.getByRole('alert')).toHaveCount(0)
  await page.keyboard.press('Enter')
  await expect(address(10)).toHaveAccessibleDescription(/begins with https/)
  await form.getByRole('button', { name: 'Remove address 10' }).click()
  await form.getByRole('button', { name: 'Save' }).click()
  await expect(row(page, PUBLIC)).toBeVisible()
  expect(await urls(tenant)).toEqual([PUBLIC])

  // A concurrent change.
  await page.getByRole('button', { name: 'Edit', exact: true }).click()
  const theirs = 'https://other.example.com'
  await call(tenant, 'PUT', '/api/alertmanagers', { urls: [theirs] })
  await address(1).fill('https://mine.example.com')
  await form.getByRole('button', { name: 'Save' }).click()
  await expect(form).toContainText('Somebody else changed the list')
  await expect(form.getByRole('listitem')).toHaveText([theirs])
  expect(await urls(tenant)).toEqual([theirs])
  await expect(address(1)).toHaveValue('https://mine.example.com')
  await picture(page, 'rules-alertmanagers-conflict')
  await form.getByRole('button', { name: 'Load the stored version' }).click()
  await expect(address(1)).toHaveValue(theirs)

  await form.getByRole('button', { name: 'Remove address 1' }).click()
  await form.getByRole('button', { name: 'Save' }).click()
  await expect(page.getByText('No Alertmanagers yet')).toBeVisible()
  expect(await urls(tenant)).toEqual([])
})

test(
  'sets the login of an Alertmanager and never shows its secrets',
  { tag: '@full' },
  async ({ page, tenant, watch }) => {
    watch.allow(/status of 422 .*\/alertmanagers/)
    const form = await addAlertmanager(page, tenant)
    const field = (label: string) => form.getByLabel(label, { exact: true })
    await field('Address 1').fill(PUBLIC)
    await field('Authorization 1').selectOption({ label: 'User and password' })
    await field('User 1').fill('ops')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(field('Password 1')).toHaveAccessibleDescription(/must be given/)
    await field('Password 1').fill('s3cret')
    await form.getByRole('button', { name: 'Add a header' }).click()
    await field('Header 1.1').fill('Host')
    await field('Value 1.1').fill('s3cret')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(field('Header 1.1')).toHaveAccessibleDescription(/that the server sets/)
    await field('Header 1.1').fill('X-Scope-OrgID')
    await picture(page, 'rules-alertmanagers-login')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(row(page, PUBLIC)).toContainText('ops')
    await expect(row(page, PUBLIC)).toContainText('X-Scope-OrgID')

    // What stays empty is kept, but not for another address.
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await expect(field('Password 1')).toHaveValue('')
    await expect(field('Password 1')).toHaveAttribute('placeholder', 'Unchanged')
    await expect(field('Value 1.1')).toHaveAttribute('placeholder', 'Unchanged')
    await field('User 1').fill('dev')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(row(page, PUBLIC)).toContainText('dev')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await field('Address 1').fill('https://other.example.com')
    await expect(field('Password 1')).not.toHaveAttribute('placeholder')
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(field('Password 1')).toHaveAccessibleDescription(/must be given/)
    await field('Authorization 1').selectOption({ label: 'Bearer token' })
    await field('Token 1').fill('t0ken')
    await form.getByRole('button', { name: 'Remove header 1.1' }).click()
    await form.getByRole('button', { name: 'Save' }).click()
    await expect(row(page, 'https://other.example.com')).toContainText('Bearer token')
    expect(await call<object>(tenant, 'GET', '/api/alertmanagers')).toMatchObject({
      alertmanagers: [{ authorization: { type: 'bearer', username: null }, headers: [] }],
    })
  },
)

test('shows whether alerts reach an Alertmanager', { tag: '@full' }, async ({ page, tenant }) => {
  const stored = { authorization: null, headers: [], updatedAt: '2026-01-01T00:00:00Z' }
  const at = new Date(Date.now() - 120_000).toISOString()
  const alertmanagers = [
    {
      ...stored,
      url: 'https://a.example.com',
      lastSentAt: at,
      lastFailedAt: at,
      lastError: 'an Alertmanager answers 401',
    },
    { ...stored, url: 'https://b.example.com', lastSentAt: at, lastFailedAt: null, lastError: null },
    { ...stored, url: 'https://c.example.com', lastSentAt: null, lastFailedAt: null, lastError: null },
  ]
  await page.route('**/admin/api/alertmanagers', (route) =>
    route.fulfill({
      json: { success: true, data: { urls: [], alertmanagers } },
      headers: { ETag: 'W/"1.2"' },
    }),
  )
  await open(page, 'alerts/alertmanagers', tenant.workspace)
  await expect(row(page, 'a.example.com')).toContainText('an Alertmanager answers 401')
  await expect(row(page, 'a.example.com')).toContainText('failed')
  await expect(row(page, 'b.example.com')).toContainText('accepted')
  await expect(row(page, 'b.example.com')).toContainText('2 min ago')
  await expect(row(page, 'c.example.com')).toContainText('None yet')
  await picture(page, 'alertmanagers-results')
})
