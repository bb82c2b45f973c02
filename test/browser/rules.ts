// What the tests of files of rules and of the list of Alertmanagers share.

import type { Locator, Page } from '@playwright/test'

import { call, expect, open, row, type Tenant, URL_OF, waitForPage } from './support.ts'
import { withTenant } from './tenant.ts'

/** Each test has a workspace. */
export const test = withTenant((title) => `Rules ${title}`)

export const STORED = `groups:
  - name: pumps
    interval: 1m
    rules:
      - record: pressure:max
        expr: max(pressure)
      - alert: PressureHigh
        expr: pressure:max > 8
`

export const FILE = '/api/rules/pumps'

/** Stores the file. */
export async function put(of: Tenant, text: string): Promise<void> {
  const answer = await fetch(URL_OF + FILE, {
    method: 'PUT',
    headers: {
      Authorization: `Bearer ${of.key}`,
      'X-Workspace-Id': of.workspace,
      'Content-Type': 'application/yaml',
    },
    body: text,
  })
  if (!answer.ok) throw new Error(`${answer.status} ${await answer.text()}`)
}

export const stored = async (of: Tenant, path = FILE): Promise<string> =>
  (await call<{ content: string }>(of, 'GET', path)).content

export const names = async (of: Tenant): Promise<string[]> =>
  (await call<{ name: string }[]>(of, 'GET', '/api/rules')).map((file) => file.name)

export async function openRules(page: Page, of: Tenant): Promise<void> {
  await open(page, 'alerts/rules', of.workspace)
  await waitForPage(page, 'Alerts')
}

/** Stores the file and opens its editor. */
export async function edit(page: Page, of: Tenant, text = STORED): Promise<Locator> {
  await put(of, text)
  await openRules(page, of)
  await row(page, 'pumps').click()
  await page.getByRole('dialog', { name: 'pumps', exact: true }).getByRole('button', { name: 'Edit' }).click()
  const form = page.getByRole('dialog', { name: 'Edit pumps' })
  await expect(textOf(form)).toHaveValue(text)
  return form
}

export const textOf = (form: Locator): Locator => form.getByRole('textbox', { name: 'Rules' })

/** The address of an Alertmanager that is allowed, because it is public. */
export const PUBLIC = 'https://alerts.example.com'

/** Opens the empty list of Alertmanagers and its form. */
export async function addAlertmanager(page: Page, of: Tenant): Promise<Locator> {
  await open(page, 'alerts/alertmanagers', of.workspace)
  await page.getByRole('button', { name: 'Add an Alertmanager' }).click()
  return page.getByRole('dialog', { name: 'Alertmanagers' })
}
