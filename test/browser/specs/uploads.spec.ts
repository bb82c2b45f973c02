import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import type { Locator } from '@playwright/test'

import { choose, documents, file, MARKDOWN, NOTE, type UploadedFile, uploadDialog } from '../documents.ts'
import { call, expect, faults, open, picture } from '../support.ts'
import { withTenant } from '../tenant.ts'

/** Each test has a workspace. */
const test = withTenant(() => 'Pump station')

const fileOf = (dialog: Locator, name: string) => dialog.getByRole('listitem').filter({ hasText: name })

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
  const send = async (files: UploadedFile[], tags: string) => {
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
