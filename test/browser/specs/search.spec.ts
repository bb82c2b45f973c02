import { test } from '../library.ts'
import { call, expect, faults, open, overflowWidth, picture, seed, type Tenant } from '../support.ts'

test('explains the results of hybrid and plain search', async ({ page }) => {
  const { plant } = seed()
  await open(page, 'search', plant.workspace)
  await expect(page.getByText('Search nodes')).toBeVisible()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(page.getByText('Search nodes')).toBeVisible()
  await page.getByRole('textbox', { name: 'Query' }).fill('who looks after the pump?')
  await page.getByRole('textbox', { name: 'Query' }).press('Enter')
  const results = page.getByRole('region', { name: 'Results' })
  await expect(results).toContainText(/\d results?/)
  const hit = results.getByRole('listitem').filter({ hasText: 'Ana Ruiz' }).first()
  await expect(hit).toBeVisible()
  // The lanes, the composition of the score, and the path over edges.
  for (const lane of ['Score', 'Words', 'Meaning', 'Graph'])
    await expect(hit.getByText(lane, { exact: true }).first()).toBeVisible()
  await expect(results.getByText('Composition').first()).toBeVisible()
  await expect(results.getByText('Path over edges').first()).toBeVisible()
  await expect(page.getByRole('region', { name: 'The request as a command' })).toContainText(
    '/api/rag/hybrid-search',
  )

  await page.getByRole('radio', { name: 'Plain' }).check()
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(page.getByRole('region', { name: 'The request as a command' })).toContainText(
    '/api/rag/search',
  )
  await expect(results.getByRole('listitem').filter({ hasText: 'Pump 7' }).first()).toBeVisible()
  await expect(results.getByText('Path over edges')).toHaveCount(0)

  await results
    .getByRole('link', { name: /in the graph/ })
    .first()
    .click()
  await expect(page.getByRole('heading', { level: 1, name: 'Graph' })).toBeVisible()
  await expect(page.locator('.graph-count')).toHaveText(/^[1-9]/)
})

test('filters results by facets and ranges of properties', { tag: '@full' }, async ({ page, tenant }) => {
  await open(page, 'search?mode=search&q=pump', tenant.workspace)
  const results = page.getByRole('region', { name: 'Results' })
  const hits = results.locator('ol > li')
  const command = page.getByRole('region', { name: 'The request as a command' })
  await expect(hits.filter({ hasText: 'Note about noise' })).not.toHaveCount(0)
  await results.getByRole('button', { name: 'Facets' }).click()
  const facets = results.getByRole('region', { name: 'Facets' })
  await expect(command).toContainText('"facets":["entityType","tags","timestamp"]')
  expect.soft(await faults(page)).toEqual([])
  await picture(page, 'facets-light')

  // A value is a filter. The count is that of the results that it leaves.
  const north = facets.getByRole('button', { name: /^north/ })
  const count = Number(/\d+/.exec(await north.innerText())?.[0])
  await north.click()
  await expect(north).toHaveAttribute('aria-pressed', 'true')
  await expect(results.getByRole('status').first()).toContainText(`${count} results`)
  await expect(hits.filter({ hasText: 'Note about noise' })).toHaveCount(0)
  await expect(command).toContainText('"allTags":["north"]')
  await expect(page.getByLabel('All of these tags')).toHaveValue('north')
  await facets.getByRole('button', { name: /^2026-02/ }).click()
  await expect(hits).toHaveCount(1)
  await expect(hits).toContainText('Handbook of the boiler house')
  expect(new URL(page.url()).searchParams.get('from')).toContain('2026-02')
  await page.reload()
  await expect(hits).toContainText('Handbook of the boiler house')
  await facets.getByRole('button', { name: 'Remove the filter: Time' }).click()
  await facets.getByRole('button', { name: 'Remove the filter: Tag' }).click()
  await expect(hits.filter({ hasText: 'Note about noise' })).not.toHaveCount(0)

  // An invalid condition is not sent, and has the focus.
  const properties = page.getByRole('textbox', { name: 'Properties' })
  await properties.fill('kW > 100')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(properties).toBeFocused()
  await expect(page.getByText('Use >= or <=')).toBeVisible()
  await properties.fill('kW >= 100\nkW <= 500\nline ^= B-')
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(hits).toHaveCount(1)
  await expect(hits).toContainText('Pump 8')
  await expect(command).toContainText(
    '"propertyMin":{"kW":100},"propertyMax":{"kW":500},"propertyPrefix":{"line":"B-"}',
  )
})

/** Returns the id of a document. */
async function documentId(of: Tenant, externalId: string): Promise<string> {
  const { id } = await call<{ id: string }>(of, 'GET', `/api/documents/${externalId}`)
  return id
}

test('searches inside a document', { tag: '@full' }, async ({ page, tenant }) => {
  await open(page, `documents?id=${await documentId(tenant, 'manual')}`, tenant.workspace)
  const details = page.getByRole('dialog', { name: 'Manual of pumps' })
  await picture(page, 'document-actions')
  await details.getByRole('link', { name: 'Search in this document' }).click()
  const chips = page.getByRole('list', { name: 'Only in 1 document' })
  await expect(chips.getByRole('link', { name: 'Manual of pumps' })).toBeVisible()
  const query = page.getByRole('textbox', { name: 'Query' })
  await query.fill('lubricated bearing')
  await query.press('Enter')
  const hits = page.getByRole('region', { name: 'Results' }).locator('ol > li')
  const command = page.getByRole('region', { name: 'The request as a command' })
  await expect(hits.filter({ hasText: 'once every 500 hours' })).not.toHaveCount(0)
  await expect(hits.filter({ hasNotText: 'Manual of pumps' })).toHaveCount(0)
  await expect(command).toContainText('"documents":["')
  expect.soft(await faults(page)).toEqual([])
  await picture(page, 'inside-document-light')

  // The filter is in the URL, and can be removed.
  await page.reload()
  await expect(hits.filter({ hasText: 'once every 500 hours' })).not.toHaveCount(0)
  await page.getByRole('button', { name: 'Remove the document Manual of pumps' }).click()
  await expect(chips).toHaveCount(0)
  await page.getByRole('button', { name: 'Search', exact: true }).click()
  await expect(hits.filter({ hasText: 'Note about noise' })).not.toHaveCount(0)
  await expect(command).not.toContainText('"documents"')
  expect(new URL(page.url()).searchParams.has('document')).toBe(false)
})

test.describe('on a phone in the dark', { tag: '@full' }, () => {
  test.use({ colorScheme: 'dark', viewport: { width: 360, height: 780 }, hasTouch: true })
  test('shows the documents in which is searched', async ({ page, tenant }) => {
    const ids = await Promise.all(['manual', 'handbook'].map((name) => documentId(tenant, name)))
    const unknown = '00000000-0000-7000-8000-000000000000'
    await open(page, `documents?id=${ids[0] ?? ''}`, tenant.workspace)
    await expect(page.getByRole('link', { name: 'Search in this document' })).toBeVisible()
    expect.soft(await overflowWidth(page)).toBeLessThanOrEqual(0)
    await picture(page, 'document-actions-phone-dark')
    const list = [...ids, unknown, 'manual.md'].map((id) => `document=${id}`).join('&')
    await open(page, `search?${list}`, tenant.workspace)
    const chips = page.getByRole('list', { name: 'Only in 4 documents' })
    await expect(chips.getByRole('link')).toHaveText([
      'Manual of pumps',
      'Handbook of the boiler house',
      /00000000$/,
      /^manual/,
    ])
    await expect(page.getByRole('alert')).toContainText('“manual.md” is not a document id')
    expect.soft(await faults(page)).toEqual([])
    expect.soft(await overflowWidth(page)).toBeLessThanOrEqual(0)
    await picture(page, 'inside-documents-phone-dark')
  })
})
