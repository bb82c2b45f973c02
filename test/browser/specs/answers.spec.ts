// Answers with their sources, and saved queries.

import type { Page } from '@playwright/test'

import { FILE_ADDRESS, QUESTION, save, savedQueries, test } from '../library.ts'
import { call, expect, faults, NASTY, open, overflowWidth, picture } from '../support.ts'

const answerOf = (page: Page) => page.getByRole('region', { name: 'Answer' })
const dialog = (page: Page, name: string | RegExp) => page.getByRole('dialog', { name })
const requestOf = (page: Page) => page.getByRole('region', { name: 'The request as a command' })

/** Asks a question with the form. */
async function askQuestion(page: Page, question: string): Promise<void> {
  await page.getByRole('radio', { name: 'Answer' }).check()
  await page.getByRole('textbox', { name: 'Question' }).fill(question)
  await page.getByRole('button', { name: 'Answer', exact: true }).click()
}

test('answers a question with its sources, and runs it again as a saved query', async ({ page, tenant }) => {
  await open(page, 'search', tenant.workspace)
  await askQuestion(page, QUESTION)
  const answer = answerOf(page)
  await expect(answer.getByText('lubricated once every 500 hours.').first()).toBeVisible()
  await expect(requestOf(page)).toContainText('/api/rag/answer')

  // A citation leads to its source, which has the sentence in its context, the document and its address.
  const mark = answer.getByRole('link', { name: /^Source \d: Manual of pumps/ })
  const source = answer.getByRole('listitem', { name: (await mark.getAttribute('aria-label')) ?? '' })
  await mark.click()
  await expect(source).toBeFocused()
  await expect(source).toBeInViewport()
  await expect(source.locator('mark')).toHaveText(
    'The bearing of the pump is lubricated once every 500 hours.',
  )
  await expect(source).toContainText('Use a grease of class 2.')
  const address = source.getByRole('link', { name: /docs\.example\.com\/pumps/ })
  await expect(address).toHaveAttribute('href', 'https://docs.example.com/pumps?page=1')
  await expect(address).toHaveAttribute('rel', /noopener/)
  expect.soft(await faults(page)).toEqual([])
  await picture(page, 'answer-light')

  await source.getByRole('link', { name: 'Passage of Manual of pumps' }).click()
  await expect(dialog(page, 'Manual of pumps')).toContainText('Use a grease of class 2.')
  await page.goBack()
  await expect(source).toBeVisible()

  await page.getByRole('button', { name: 'Save…' }).click()
  await dialog(page, 'Save the form').getByLabel('Name').fill('lubrication')
  await dialog(page, 'Save the form').getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByText('Query saved')).toBeVisible()
  await open(page, 'search?mode=search&q=water', tenant.workspace)
  await page.getByRole('button', { name: 'Saved queries', exact: true }).click()
  expect.soft(await faults(page)).toEqual([])
  await picture(page, 'saved-queries-light')
  await page.getByRole('button', { name: 'Run lubrication' }).click()
  await expect(dialog(page, 'Saved queries')).toHaveCount(0)
  await expect(page.getByRole('textbox', { name: 'Question' })).toHaveValue(QUESTION)
  await expect(answer.getByText('lubricated once every 500 hours.').first()).toBeVisible()
})

test(
  'links addresses of the web only, and reports that nothing answers',
  { tag: '@full' },
  async ({ page, tenant }) => {
    await open(page, 'search', tenant.workspace)
    await askQuestion(
      page,
      'how many hours ago was the bearing lubricated, according to the note about noise?',
    )
    const source = answerOf(page).getByRole('listitem').filter({ hasText: 'Note about noise' })
    await expect(source).toContainText(FILE_ADDRESS)
    await expect(source.getByRole('link', { name: /javascript/ })).toHaveCount(0)
    await expect(page.locator('a[href^="javascript:"]')).toHaveCount(0)

    await page.getByRole('textbox', { name: 'Question' }).fill('xyzzy plugh frobnicate')
    await page.getByRole('textbox', { name: 'Question' }).press('Enter')
    await expect(page.getByText('No sentence answers the question')).toBeVisible()
    await page.getByRole('button', { name: 'Show the results' }).click()
    await expect(page.getByRole('region', { name: 'Results' })).toBeVisible()
    await expect(page.getByRole('radio', { name: 'Hybrid' })).toBeChecked()
  },
)

test(
  'shows errors about models that are not configured',
  { tag: '@full' },
  async ({ page, tenant, watch }) => {
    watch.allow(/status of 422/)
    await open(page, 'search', tenant.workspace)
    await page.getByRole('radio', { name: 'Answer' }).check()
    await page.getByLabel('Text', { exact: true }).selectOption('By a chat model')
    await askQuestion(page, QUESTION)
    await expect(page.getByRole('alert')).toContainText(
      'requires a chat model, and the operator has configured none',
    )
    await expect(page.getByRole('alert')).toContainText('Select “Quoted sentences”')
    await page.getByLabel('Text', { exact: true }).selectOption('Quoted sentences')
    await page.locator('summary').filter({ hasText: 'More options' }).click()
    await page.getByLabel(/by a reranking model/).check()
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await expect(page.getByRole('alert')).toContainText('requires a reranking model')
    await page.getByLabel(/by a reranking model/).uncheck()
    await page.getByRole('button', { name: 'Answer', exact: true }).click()
    await expect(answerOf(page).getByRole('listitem').first()).toBeVisible()
  },
)

test(
  'marks what the sources of a written answer do not contain, and renders it as text',
  { tag: '@full' },
  async ({ page, tenant }) => {
    // The server of the tests has no chat model.
    await page.route('**/admin/api/rag/answer', async (route) => {
      const sent = route.request().postDataJSON() as { mode?: string }
      expect(sent.mode).toBe('generate')
      const quoted = await route.fetch({ postData: JSON.stringify({ ...sent, mode: 'extract' }) })
      const response = (await quoted.json()) as {
        data: Record<string, unknown>
        meta: Record<string, unknown>
      }
      response.data['answer'] = `Every 500 hours [1]. ${NASTY}`
      const [first] = response.data['citations'] as Record<string, unknown>[]
      if (first) Object.assign(first, { name: NASTY, sourceUrl: 'javascript:alert(1)' })
      response.data['generated'] = {
        model: 'llama3.1:8b',
        sentences: [
          { text: 'Every 500 hours.', citations: [0], supported: true, support: 0.9 },
          { text: NASTY, citations: [], supported: false, support: 0.1 },
        ],
        removedCitations: [7],
        truncated: true,
      }
      response.meta['degraded'] = ['vector', 'rerank']
      await route.fulfill({ json: response })
    })
    await open(page, `search?mode=answer&generate=true&q=${encodeURIComponent(QUESTION)}`, tenant.workspace)
    const answer = answerOf(page)
    await expect(answer).toContainText('written by llama3.1:8b')
    await expect(answer.locator('.search-unsupported')).toHaveText(NASTY)
    await expect(page.locator('a[href^="javascript:"]')).toHaveCount(0)
    await expect(answer.getByText('not in the sources').first()).toBeVisible()
    await expect(answer).toContainText('The model cited 1 source that it was not given.')
    await expect(answer).toContainText('was cut')
    await expect(answer).toContainText('without the reranking model')
    await answer.getByRole('link', { name: /^Source 1/ }).click()
    await expect(answer.getByRole('listitem', { name: /^Source 1/ })).toBeFocused()
    expect.soft(await faults(page)).toEqual([])
    await picture(page, 'answer-written-light')
  },
)

test('replaces, renames and deletes saved queries', { tag: '@full' }, async ({ page, tenant, watch }) => {
  watch.allow(/status of 409/)
  const noise = await save(tenant, 'noise', {
    query: 'loud machine',
    limit: 5,
    properties: { site: 'north' },
  })
  await save(tenant, 'water', { query: 'water', offset: 2 })
  await open(page, 'search?mode=search&q=hot+bearing', tenant.workspace)

  // A name that is taken is replaced only after that was shown.
  await page.getByRole('button', { name: 'Save…' }).click()
  const saving = dialog(page, 'Save the form')
  const replacing = dialog(page, 'Replace a saved query')
  await expect(saving.getByLabel('Name')).toHaveValue('hot bearing')
  await saving.getByLabel('Name').fill(' ')
  await saving.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(saving.getByText('Enter a name.')).toBeVisible()
  await saving.getByLabel('Name').fill('noise')
  await saving.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(replacing.getByText('A query with this name exists')).toBeVisible()
  // Somebody else changes it meanwhile.
  await call(tenant, 'PATCH', `/api/rag/queries/${noise.id}`, { description: 'theirs' })
  await replacing.getByRole('button', { name: 'Replace' }).click()
  await expect(replacing.getByRole('alert')).toContainText('Version mismatch')
  await replacing.getByRole('button', { name: 'Replace' }).click()
  await expect(page.getByText('Query replaced')).toBeVisible()
  expect((await savedQueries(tenant)).map(({ name, request }) => [name, request])).toEqual([
    ['noise', { query: 'hot bearing' }],
    ['water', { query: 'water', offset: 2 }],
  ])

  await page.getByRole('button', { name: 'Saved queries', exact: true }).click()
  const list = dialog(page, 'Saved queries')
  const item = (name: string) => list.getByRole('listitem').filter({ hasText: name })
  await list.getByRole('button', { name: 'More about noise' }).click()
  await page.getByRole('menuitem', { name: 'Rename…' }).click()
  const renaming = dialog(page, 'Rename this query')
  await renaming.getByLabel('Name').fill('water')
  await renaming.getByRole('button', { name: 'Rename' }).click()
  await expect(renaming.getByText('Another saved query has this name.')).toBeVisible()
  await renaming.getByLabel('Name').fill(NASTY)
  await renaming.getByLabel(/^Description/).fill(NASTY)
  await renaming.getByRole('button', { name: 'Rename' }).click()
  await expect(page.getByText('Query renamed')).toBeVisible()
  await expect(item(NASTY.slice(0, 30))).toBeVisible()

  await list.getByRole('searchbox', { name: 'Part of the name' }).fill('wat')
  await expect(item(NASTY.slice(0, 30))).toHaveCount(0)
  await list.getByRole('button', { name: 'More about water' }).click()
  await page.getByRole('menuitem', { name: 'Replace by the form…' }).click()
  await dialog(page, 'Replace a saved query').getByRole('button', { name: 'Replace' }).click()
  await expect
    .poll(async () => (await savedQueries(tenant)).at(-1)?.request)
    .toEqual({ query: 'hot bearing' })
  await list.getByRole('button', { name: 'More about water' }).click()
  await page.getByRole('menuitem', { name: 'Delete…' }).click()
  await dialog(page, 'Delete this saved query?').getByRole('button', { name: 'Delete query' }).click()
  await expect(page.getByText('Query deleted')).toBeVisible()
  await expect(list.getByText('No matching queries')).toBeVisible()
  expect((await savedQueries(tenant)).map(({ name }) => name)).toEqual([NASTY])
})

test(
  'runs a saved query with every option, and saves it unchanged',
  { tag: '@full' },
  async ({ page, tenant }) => {
    const request = {
      query: 'water',
      limit: 20,
      offset: 1,
      properties: { 'a = b': [1, '1'] },
      propertyMin: { kW: 5 },
      propertyPrefix: { line: 'A-' },
      allTags: ['a, b'],
      timestamp: { from: '2026-01-01T00:00:00+02:00' },
      facets: ['tags'],
      groupBy: 'document',
    }
    const saved = await save(tenant, 'every option', request)
    await open(page, 'search', tenant.workspace)
    await page.getByRole('button', { name: 'Saved queries', exact: true }).click()
    await page.getByRole('button', { name: 'Run every option' }).click()
    await expect(page.getByLabel('Properties')).toHaveValue('"a = b" = [1,"1"]\nkW >= 5\nline ^= A-')
    await expect(page.getByLabel('All of these tags')).toHaveValue('"a, b"')
    const command = await requestOf(page).innerText()
    const sent = JSON.parse(/--data-raw '(.*)'/.exec(command)?.[1] ?? '') as unknown
    expect(sent).toEqual(request)
    await page.getByRole('button', { name: 'Save…' }).click()
    await dialog(page, 'Replace a saved query').getByRole('button', { name: 'Replace' }).click()
    await expect(page.getByText('Query replaced')).toBeVisible()
    // The page of the results is not saved.
    const { offset: _, ...rest } = request
    expect((await savedQueries(tenant)).map(({ id, request }) => [id, request])).toEqual([[saved.id, rest]])
  },
)

test.describe('in the dark on a phone', { tag: '@full' }, () => {
  test.use({ colorScheme: 'dark', viewport: { width: 360, height: 780 }, hasTouch: true })
  test('shows an answer, facets and saved queries', async ({ page, tenant }) => {
    await save(tenant, 'a long name '.repeat(20).trim(), { query: 'water '.repeat(100) })
    for (const [name, path] of [
      ['answer', `search?mode=answer&q=${encodeURIComponent(QUESTION)}`],
      ['facets', 'search?mode=search&facet=entityType&facet=tags&facet=timestamp&q=pump'],
    ] as const) {
      await open(page, path, tenant.workspace)
      const region = page.getByRole('region', { name: name === 'answer' ? 'Answer' : 'Facets' })
      await region.scrollIntoViewIfNeeded()
      expect.soft(await faults(page)).toEqual([])
      expect.soft(await overflowWidth(page), name).toBeLessThanOrEqual(0)
      await picture(page, `${name}-phone-dark`)
    }
    await page.getByRole('button', { name: 'Saved queries', exact: true }).click()
    await expect(dialog(page, 'Saved queries').getByRole('listitem')).toHaveCount(1)
    expect.soft(await faults(page)).toEqual([])
    await picture(page, 'saved-queries-phone-dark')
  })
})
