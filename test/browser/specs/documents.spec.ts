import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Locator, Page } from '@playwright/test'

import { Admin } from '../admin.ts'
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

/** A text of several passages. */
const HANDBOOK = `# Pump handbook

Pump 7 moves water from the cellar to Hall 3. It starts when the level in the sump reaches 80 cm and stops at 20 cm.

## Daily inspection

Look at the pump once in each shift, and write the result into the shift report. Listen first: a pump that runs well
hums evenly. A rattle points to a loose coupling, a whistle to air in the suction line, and a deep growl to a worn
bearing. Then feel the housing of the motor. It may be warm, but a hand must be able to rest on it for ten seconds. Look
for water below the shaft seal. A drop in a minute is normal, because it cools the seal. A thin stream is not: order a
seal and reduce the speed until it is replaced. Compare the pressure behind the pump with the value of the day before.
If it has dropped by more than half a bar while the speed is the same, clean the strainer. Check that the float switch
moves freely, and that no cable lies in the water. At last, drain the condensate from the air line and close the valve.

## Bearings

The bearings are greased every 2,000 hours with lithium grease of class 2, at most 15 grams for each bearing. Too much
grease is worse than too little, because the balls slide instead of rolling and the bearing runs hot. Remove the plug at
the bottom before you grease, so that the old grease can leave. Let the pump run for half an hour and close the plug
again. A bearing that runs hotter than 80 degrees must not run until the next shift: switch to Pump 8, and call the
maintenance. Measure vibration once a month with the sensor at the drive end. Up to 2.8 mm/s is good, up to 4.5 mm/s is
acceptable for a week, and above that the pump must stop. Write the values into the table below the diagram. They show
wear weeks before anybody can hear it, and the order of a bearing takes ten days.

## Spare parts

Two shaft seals, two bearings of each side, a coupling spider and a set of gaskets are in rack 4 of the store. Whoever
takes the last part of a kind orders two. A float switch is in the electrical store, because it is shared with the
pumps of the north wing. The impeller is not in stock. It is made of bronze, and its delivery takes six weeks, so order
it when the gap to the wear ring is larger than a millimetre. The supplier sends drawings with each part. Give them to
the office, which scans them, so that the search finds them by the number of the part.
`

const file = (name: string, content: string | Buffer) => ({
  name,
  mimeType: '', // of no importance
  buffer: Buffer.from(content),
})
const MARKDOWN = file('pumps.md', HANDBOOK)
const NOTE = file('note.txt', 'The machine in the cellar is loud.')

const uploadDialog = (page: Page) => page.getByRole('dialog', { name: 'Upload documents' })
const documents = (page: Page) => page.getByRole('table', { name: 'Documents' })
const fileOf = (dialog: Locator, name: string) => dialog.getByRole('listitem').filter({ hasText: name })

/** Opens the page with the dialog for uploads, and chooses files. */
async function choose(page: Page, of: Tenant, files: ReturnType<typeof file>[]): Promise<Locator> {
  await open(page, 'documents?upload=1', of.workspace)
  const dialog = uploadDialog(page)
  await dialog.getByLabel('Files', { exact: true }).and(page.locator('input')).setInputFiles(files)
  return dialog
}

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

test('reports each file that cannot be a document', { tag: '@full' }, async ({ page, tenant, watch }) => {
  watch.allow(/status of 422 .* \/admin\/api\/documents$/)
  const dialog = await choose(page, tenant, [
    file('picture.png', 'x'),
    file('old.doc', 'x'),
    file('empty.txt', ''),
    file('huge.txt', 'x'.repeat((4 << 20) + 1)),
    file('damaged.pdf', 'no PDF'),
    file('latin.txt', Buffer.from([0xe4, 0xf6])),
    file('long.txt', 'word '.repeat(230_000)),
    NOTE,
    file('note.txt', 'Another file of this name.'),
  ])
  for (const [name, reason] of [
    ['picture.png', 'Files of this type are not read.'],
    ['old.doc', 'Save the file as .docx.'],
    ['empty.txt', 'The file is empty.'],
    ['huge.txt', 'larger than 4 MiB'],
  ] as const)
    await expect(fileOf(dialog, name)).toContainText(reason)
  const twins = fileOf(dialog, 'note.txt')
  await expect(twins.first()).toContainText('Another file of this upload has the same external id.')
  await twins.last().getByLabel('External id').fill('note-2.txt')
  expect.soft(await faults(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Upload 5 files' }).click()
  await expect(dialog.getByRole('status').filter({ hasText: '2 created, 3 failed' })).toBeVisible()
  for (const [name, reason] of [
    ['damaged.pdf', 'The file is not a PDF file, or is damaged.'],
    ['latin.txt', 'The file is not text in UTF-8.'],
    ['long.txt', 'The text has'],
  ] as const)
    await expect(fileOf(dialog, name).getByRole('alert')).toContainText(reason)
  expect.soft(await faults(page)).toEqual([])
  await picture(page, 'documents-failures')

  // Failed files can be sent again, and removed.
  await dialog.getByRole('button', { name: 'Upload 3 files' }).click()
  await expect(dialog.getByRole('status').filter({ hasText: '2 created, 3 failed' })).toBeVisible()
  await dialog.getByRole('button', { name: 'Remove long.txt from the list' }).click()
  await expect(dialog.getByRole('button', { name: 'Upload 2 files' })).toBeVisible()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await expect(documents(page).locator('tbody tr')).toHaveCount(2)
})

test('reports what an upload changed', { tag: '@full' }, async ({ page, tenant }) => {
  const send = async (files: ReturnType<typeof file>[], tags: string) => {
    const dialog = await choose(page, tenant, files)
    await dialog.getByLabel(/^Tags of these documents/).fill(tags)
    await dialog.getByRole('button', { name: /^Upload \d/ }).click()
    await expect(dialog.getByRole('button', { name: 'Done' })).toBeVisible()
    return dialog
  }
  await send([MARKDOWN, NOTE], 'a')
  const again = await send([MARKDOWN, file('note.txt', 'The machine is quiet.')], '')
  await expect(fileOf(again, 'pumps.md')).toContainText('nothing changed')
  await expect(fileOf(again, 'note.txt')).toContainText('updated')
  await expect(again.getByRole('status').filter({ hasText: '1 updated, 1 unchanged' })).toBeVisible()
  await fileOf(again, 'note.txt').getByRole('button', { name: 'Open note.txt' }).click()
  const details = page.getByRole('dialog', { name: 'note', exact: true })
  await expect(details).toContainText('The machine is quiet.')
  await expect(details.getByRole('link', { name: 'a', exact: true })).toBeVisible() // the tag
  // A PDF file, with its title and pages
  const pdf = file('long.pdf', readFileSync('../../internal/retrieval/files/testdata/long.pdf'))
  const read = await send([pdf], '')
  await expect(read.getByRole('status').filter({ hasText: '1 created' })).toBeVisible()
  await fileOf(read, 'long.pdf').getByRole('button', { name: 'Open long.pdf' }).click()
  await expect(
    page
      .getByRole('dialog')
      .getByText(/(^| · )Page 3$/)
      .first(),
  ).toBeVisible()
  await picture(page, 'documents-pdf')
  // A file that was imported by the command line has the same content.
  await call(tenant, 'POST', '/api/documents', {
    documents: [{ externalId: 'c.txt', title: 'c', text: 'Text', contentType: 'text/plain' }],
  })
  const imported = await send([file('c.txt', 'Text')], '')
  await expect(imported.getByRole('status').filter({ hasText: '1 unchanged' })).toBeVisible()
})

test(
  'stops an upload, and repeats a request while the server is busy',
  { tag: '@full' },
  async ({ page, tenant, watch }) => {
    watch.allow(/status of 503 .* \/admin\/api\/documents$/)
    const dialog = await choose(
      page,
      tenant,
      Array.from({ length: 5 }, (_, i) => file(`${i}.txt`, `Text ${i}`)),
    )
    const held: (() => void)[] = []
    let isFirst = true
    await page.route('**/admin/api/documents', async (route) => {
      if (isFirst) {
        isFirst = false
        const error = { code: 'UNAVAILABLE', message: 'Busy' }
        await route.fulfill({ status: 503, headers: { 'Retry-After': '1' }, json: { success: false, error } })
        return
      }
      await new Promise<void>((resolve) => held.push(resolve))
      await route.continue()
    })
    await dialog.getByRole('button', { name: 'Upload 5 files' }).click()
    await expect.poll(() => held.length).toBe(3)
    await expect(dialog.getByRole('status')).toContainText('0 of 5 files sent')
    await expect(dialog.getByRole('progressbar', { name: 'Sending 0.txt' })).toBeVisible()
    await page.keyboard.press('Escape')
    await expect(dialog).toBeVisible()
    await dialog.getByRole('button', { name: 'Stop' }).click()
    for (const release of held) release()
    await expect(dialog.getByRole('status').filter({ hasText: '3 created' })).toBeVisible()
    await page.unroute('**/admin/api/documents')
    await dialog.getByRole('button', { name: 'Upload 2 files' }).click()
    await expect(dialog.getByRole('status').filter({ hasText: '5 created' })).toBeVisible()
  },
)

test(
  'takes the readable files of a folder, and at most 200 files',
  { tag: '@full' },
  async ({ page, tenant }) => {
    const folder = mkdtempSync(join(tmpdir(), 'livegraph-folder-'))
    mkdirSync(join(folder, 'sub'))
    for (const name of ['a.md', 'sub/b.txt', '.hidden.md', 'c.png'])
      writeFileSync(join(folder, name), 'Text of a file.')
    await open(page, 'documents?upload=1', tenant.workspace)
    const dialog = uploadDialog(page)
    await dialog.locator('input[type=file]').last().setInputFiles(folder)
    await dialog.getByRole('button', { name: 'Upload 2 files' }).click()
    await expect(dialog.getByRole('status').filter({ hasText: '2 created' })).toBeVisible()
    const stored = await call<{ externalId: string; title: string }[]>(tenant, 'GET', '/api/documents')
    expect(Object.fromEntries(stored.map((one) => [one.externalId, one.title]))).toEqual({
      'a.md': 'a.md',
      'sub/b.txt': 'b',
    })
    rmSync(folder, { recursive: true })

    const many = Array.from({ length: 205 }, (_, i) => file(`${i}.md`, 'x'))
    const other = await choose(page, tenant, many)
    await expect(other.getByText('5 files were not added')).toBeVisible()
    await expect(other.getByRole('button', { name: 'Upload 200 files' })).toBeVisible()
  },
)

test('takes files that are dropped on the page', { tag: '@full' }, async ({ page, tenant }) => {
  await open(page, 'documents', tenant.workspace)
  await expect(page.getByText('No documents yet')).toBeVisible()
  const drop = async (type: 'dragover' | 'drop', names: string[]) => {
    const transfer = await page.evaluateHandle((names) => {
      const transfer = new DataTransfer()
      for (const name of names) transfer.items.add(new File(['Text of a file.'], name))
      return transfer
    }, names)
    await page.locator('main').dispatchEvent(type, { dataTransfer: transfer })
  }
  await drop('dragover', ['a.md'])
  await expect(page.locator('.documents-drop-over')).toBeVisible()
  await drop('drop', ['a.md', 'b.md'])
  const dialog = uploadDialog(page)
  await expect(dialog.getByRole('button', { name: 'Upload 2 files' })).toBeVisible()
  await drop('drop', ['c.md'])
  await dialog.getByLabel(/timestamp of its document/).check()
  await dialog.getByRole('button', { name: 'Upload 3 files' }).click()
  await expect(dialog.getByRole('status').filter({ hasText: '3 created' })).toBeVisible()
  const stored = await call<{ timestamp: string | null }[]>(tenant, 'GET', '/api/documents')
  for (const { timestamp } of stored) expect(Date.now() - Date.parse(timestamp ?? '')).toBeLessThan(600_000)
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
