import { Admin } from '../admin.ts'
import { choose, documents, file, HANDBOOK, MARKDOWN, NOTE, uploadDialog } from '../documents.ts'
import {
  call,
  clippedTables,
  expect,
  faults,
  open,
  overflowWidth,
  picture,
  row,
  type Tenant,
  waitForPage,
} from '../support.ts'
import { withTenant } from '../tenant.ts'

/** Each test has a workspace. */
const test = withTenant(() => 'Pump station')

test('uploads files, shows a document, deletes it and restores it', async ({ page, tenant }) => {
  await open(page, 'documents', tenant.workspace)
  await expect(page.getByText('No documents yet')).toBeVisible()
  await page.getByRole('button', { name: 'Upload files' }).click()
  const dialog = uploadDialog(page)
  await dialog.locator('input[type=file]').first().setInputFiles([MARKDOWN, NOTE])
  await dialog.getByLabel(/^Tags of these documents/).fill('handbook, cellar')
  expect.soft(await faults(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Upload 2 files' }).click()
  await expect(dialog.getByRole('status').filter({ hasText: '2 created' })).toBeVisible()
  await dialog.getByRole('button', { name: 'Done' }).click()

  await expect(row(documents(page), 'note.txt')).toContainText('handbook')
  await row(documents(page), 'pumps.md').click()
  const details = page.getByRole('dialog', { name: 'Pump handbook' })
  await expect(details.getByRole('list').getByText('Two shaft seals, two bearings')).toBeVisible()
  await expect(details.getByText('Daily inspection', { exact: true }).first()).toBeVisible()
  expect.soft(await faults(page)).toEqual([])
  await details.getByRole('button', { name: 'Delete…' }).click()
  await page.getByRole('button', { name: 'Delete document' }).click()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await expect(row(documents(page), 'pumps.md')).toHaveCount(0)
  await page.getByRole('button', { name: 'Undo', exact: true }).click()
  await expect(row(documents(page), 'pumps.md')).toBeVisible()
  await expect(page.getByText('Document deleted')).toHaveCount(0)
})

/** Puts documents of several types, with tags and timestamps, and returns the id of the handbook. */
async function fill(of: Tenant): Promise<string> {
  const { documents: put } = await call<{ documents: { id: string }[] }>(of, 'POST', '/api/documents', {
    documents: [
      {
        externalId: 'handbook/pumps.md',
        contentType: 'text/markdown',
        text: HANDBOOK,
        tags: ['handbook', 'pumps', 'north', 'maintenance'],
        timestamp: '2026-03-01T08:00:00Z',
        sourceUrl: 'https://wiki.example.com/handbook/pumps',
      },
      {
        externalId: 'https://wiki.example.com/halls/3?view=all#dry',
        contentType: 'text/html',
        text: '<title>Hall 3</title><p>Hall 3 is dry. The pump of the hall is tested each month.',
        tags: ['north'],
        timestamp: '2026-06-01T08:00:00Z',
      },
      {
        externalId: 'note-12',
        title: 'A note about the machine in the cellar, which has become loud',
        text: 'Loud.',
      },
      { externalId: 'shift/2026-11-21.txt', title: 'Shift report', text: 'No events.', tags: ['pumps'] },
    ],
  })
  return put[0]?.id ?? ''
}

test(
  'finds documents by external id, tags and timestamp',
  { tag: '@full' },
  async ({ page, tenant, watch }) => {
    watch.allow(
      /status of 400 .* \/admin\/api\/documents$/,
      /status of 404 .* \/admin\/api\/documents\/0{8}-/,
    )
    await fill(tenant)
    await open(page, 'documents', tenant.workspace)
    const rows = documents(page).locator('tbody tr')
    await expect(rows).toHaveCount(4)
    const tags = page.getByRole('textbox', { name: 'Tags' })
    await tags.fill('pumps')
    await tags.press('Enter')
    await expect(rows).toHaveCount(2)
    await tags.fill('north,')
    await expect(rows).toHaveCount(3)
    await page.getByRole('radio', { name: 'All' }).check()
    await expect(rows).toHaveCount(1)
    await expect(row(documents(page), 'handbook/pumps.md')).toBeVisible()
    expect(new URL(page.url()).searchParams.getAll('allTag')).toEqual(['pumps', 'north'])
    await page.reload()
    await expect(rows).toHaveCount(1)
    await tags.press('Backspace')
    await expect(rows).toHaveCount(2)
    await page.getByRole('button', { name: 'Remove the tag pumps' }).click()
    await expect(rows).toHaveCount(4)

    await page.getByLabel('Dated from').fill('2026-05-01T00:00')
    await page.getByLabel('Dated from').press('Enter')
    await expect(rows).toHaveCount(1)
    await page.getByLabel('before', { exact: true }).fill('2026-04-01T00:00')
    await page.getByLabel('before', { exact: true }).press('Enter')
    await expect(
      page.getByRole('alert').filter({ hasText: 'must be after timestampFrom' }).first(),
    ).toBeVisible()
    await page.getByRole('button', { name: 'Clear', exact: true }).click()
    await expect(rows).toHaveCount(4)

    await page.getByRole('searchbox', { name: 'Exact external id' }).fill('note-12')
    await expect(rows).toHaveCount(1)
    await expect(page.getByText('1 document', { exact: true })).toBeVisible()
    await page.getByRole('searchbox', { name: 'Exact external id' }).fill('note')
    await expect(page.getByText('No matching documents')).toBeVisible()
    await page.getByRole('button', { name: 'Clear filters' }).click()
    await expect(rows).toHaveCount(4)

    // The order is in the URL.
    const first = rows.first()
    await expect(first).toContainText('handbook/pumps.md')
    await page.getByRole('combobox', { name: 'Order' }).selectOption('timestamp')
    await expect(first).toContainText('wiki.example.com/halls/3')
    expect(new URL(page.url()).searchParams.get('sort')).toBe('timestamp')
    await call(tenant, 'POST', '/api/documents', {
      documents: [{ externalId: 'note-12', title: 'A note about the quiet machine', text: 'Quiet.' }],
    })
    await page.reload()
    await expect(first).toContainText('wiki.example.com/halls/3')
    await page.getByRole('combobox', { name: 'Order' }).selectOption('newest')
    await expect(first).toContainText('A note about the quiet machine')
    expect.soft(await faults(page)).toEqual([])
    await picture(page, 'documents-newest')
    await page.getByRole('combobox', { name: 'Order' }).selectOption('created')
    await expect(first).toContainText('handbook/pumps.md')
    expect(new URL(page.url()).searchParams.has('sort')).toBe(false)

    // A document's tag leads to all documents with it, and the back button to the document.
    await row(documents(page), 'handbook/pumps.md').click()
    await page.getByRole('dialog').getByRole('link', { name: 'north' }).click()
    await expect(page.getByRole('dialog')).toHaveCount(0)
    await expect(rows).toHaveCount(2)
    await page.goBack()
    const details = page.getByRole('dialog', { name: 'Pump handbook' })
    await expect(details.getByRole('link', { name: 'https://wiki.example.com/handbook/pumps' })).toBeVisible()
    await details.getByRole('link', { name: 'Open in the graph' }).click()
    await expect(page.locator('.graph-count')).toHaveText(/^1 node/)
    await page.goBack()
    await details.getByRole('link', { name: 'Search from here' }).click()
    await expect(page.getByRole('textbox', { name: 'Query' })).toHaveValue('Pump handbook')
    await open(page, 'documents?id=00000000-0000-7000-8000-000000000000', tenant.workspace)
    await expect(page.getByRole('dialog')).toContainText('Document not found')
  },
)

test('pages through documents', { tag: '@full' }, async ({ page, tenant }) => {
  await call(tenant, 'POST', '/api/documents', {
    documents: Array.from({ length: 51 }, (_, i) => ({ externalId: `d${i}`, text: `Text ${i}` })),
  })
  await open(page, 'documents', tenant.workspace)
  await expect(page.getByRole('heading', { name: '51 documents' })).toBeVisible()
  const rows = documents(page).locator('tbody tr')
  await expect(rows).toHaveCount(50)
  await page.getByRole('button', { name: 'Next page' }).click()
  await expect(rows).toHaveCount(1)
  expect(new URL(page.url()).searchParams.get('offset')).toBe('50')
  await page.reload()
  await expect(rows).toHaveCount(1)
  await open(page, 'documents?offset=100', tenant.workspace)
  await page.getByRole('button', { name: 'First page' }).click()
  await expect(rows).toHaveCount(50)
})

for (const scheme of ['light', 'dark'] as const) {
  for (const size of ['wide', 'narrow'] as const) {
    test.describe(`${scheme}, ${size}`, { tag: '@full' }, () => {
      test.use({
        colorScheme: scheme,
        contextOptions: { reducedMotion: 'reduce' },
        viewport: size === 'wide' ? { width: 1440, height: 900 } : { width: 360, height: 780 },
        hasTouch: size === 'narrow',
      })
      test('fits the window and is accessible', async ({ page, tenant }) => {
        const check = async (name: string) => {
          expect.soft(await faults(page), name).toEqual([])
          expect.soft(await overflowWidth(page), name).toBeLessThanOrEqual(0)
          expect.soft(await clippedTables(page), name).toEqual([])
          await picture(page, `documents-${name}-${scheme}-${size}`)
        }
        await open(page, 'documents', tenant.workspace)
        await waitForPage(page, 'Documents')
        await check('empty')
        const id = await fill(tenant)
        await open(page, 'documents?tag=north&tag=pumps', tenant.workspace)
        await waitForPage(page, 'Documents')
        await expect(documents(page).locator('tbody tr')).toHaveCount(3)
        await check('filtered')
        await open(page, 'documents', tenant.workspace)
        await waitForPage(page, 'Documents')
        await check('list')
        await open(page, `documents?id=${id}`, tenant.workspace)
        await expect(page.getByRole('dialog').getByRole('list')).toBeVisible()
        await check('details')
        await page.getByRole('button', { name: 'Delete…' }).click()
        await check('delete')
        await page.getByRole('button', { name: 'Delete document' }).click()
        await expect(page.getByText('Document deleted')).toBeVisible()
        await check('deleted')
        await open(page, 'documents?upload=1', tenant.workspace)
        await expect(uploadDialog(page)).toBeVisible()
        await check('upload-empty')
        const dialog = await choose(page, tenant, [
          MARKDOWN,
          NOTE,
          file('a picture with a long name.png', 'x'),
        ])
        await dialog.getByLabel(/^Tags of these documents/).fill('handbook,')
        await dialog.getByRole('button', { name: 'Change the id and title of note.txt' }).click()
        await check('upload')
        await dialog.getByRole('button', { name: 'Upload 2 files' }).click()
        await expect(dialog.getByRole('status').filter({ hasText: '2 created' })).toBeVisible()
        await check('uploaded')
      })
    })
  }
}
