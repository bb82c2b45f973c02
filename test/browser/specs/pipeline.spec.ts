import { expect, open, row, seed, test } from '../support.ts'

test('shows the partitions and consumer groups of topics', async ({ page }) => {
  await open(page, 'pipeline')
  for (const topic of ['points', 'graph.commands', 'graph.events', 'audit'])
    await expect(row(page, topic).first()).toBeVisible()
  await expect(row(page, 'livegraph-points').first()).toContainText('8 partitions')
  // The events topic has two built-in consumer groups.
  const events = row(page, 'graph.events').first()
  await expect(events).not.toContainText('no reader')
  for (const group of ['livegraph-lexical', 'livegraph-embeddings']) await expect(events).toContainText(group)
  await events.click()
  const sheet = page.getByRole('dialog', { name: 'graph.events' })
  for (const group of ['livegraph-lexical', 'livegraph-embeddings'])
    await expect(sheet.getByRole('table', { name: `Partitions as ${group} reads them` })).toContainText(/\d/)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await row(page, 'livegraph-points').first().click()
  await expect(page.getByRole('dialog')).toContainText(/partition/i)
  await page.keyboard.press('Escape')
  await expect(page.getByRole('dialog')).toHaveCount(0)
})

test('redrives a dead letter and discards another after a dry run', async ({ page }) => {
  const { plant } = seed()
  await open(page, `pipeline/dead-letters?workspaceId=${plant.workspace}`)
  const letters = page.getByRole('table', { name: 'Dead letters' })
  await expect(row(letters, 'refused by the store')).toHaveCount(3)

  const act = async (verb: 'Redrive' | 'Discard', reason: string) => {
    // The metric of a dead letter is in its details.
    for (let at = 0; ; at++) {
      await row(letters, 'refused by the store').nth(at).click()
      const sheet = page.getByRole('dialog', { name: 'Dead letter' })
      await expect(sheet.getByRole('table', { name: 'Series of the record' })).toBeVisible()
      await expect(sheet).toContainText('666.25')
      if ((await sheet.innerText()).includes(verb === 'Redrive' ? 'redriven' : 'discarded')) break
      await page.keyboard.press('Escape')
      await expect(page.getByRole('dialog')).toHaveCount(0)
    }
    await page
      .getByRole('dialog')
      .getByRole('button', { name: `${verb}…` })
      .click()
    const dialog = page.getByRole('dialog', { name: `${verb} dead letters` })
    await expect(dialog).toContainText('1 dead letter would be')
    if (verb === 'Discard') {
      await dialog.getByRole('button', { name: 'Discard 1 dead letter' }).click()
      await expect(dialog.getByRole('alert')).toContainText('Enter a reason')
    }
    await dialog.getByLabel(/^Reason/).fill(reason)
    await dialog.getByRole('button', { name: `${verb} 1 dead letter` }).click()
    await expect(dialog.getByText(/^1 dead letter (redriven|discarded)/)).toBeVisible()
    await dialog.getByRole('button', { name: 'Close' }).last().click()
    await expect(dialog).toHaveCount(0)
    await expect(page.getByRole('dialog', { name: 'Dead letter' })).toContainText(reason)
    await page.keyboard.press('Escape')
    await expect(page.getByRole('dialog')).toHaveCount(0)
  }
  await act('Redrive', 'the store takes it now')
  await expect(row(letters, 'refused by the store')).toHaveCount(2)
  await act('Discard', 'of no use')
  await expect(row(letters, 'refused by the store')).toHaveCount(1)
  // Until the dead letters of the new filter are loaded, the previous ones cannot be opened.
  await page.route('**/dead-letters?*state=discarded*', async (route) => {
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    await route.continue()
  })
  await page.getByRole('radio', { name: 'Discarded' }).check()
  await row(letters, 'refused by the store').click()
  await expect(page.getByRole('dialog')).toContainText('of no use')
  await page.keyboard.press('Escape')

  // Redriven points can be queried.
  await open(page, 'sources', plant.workspace)
  await row(page, 'boiler').click()
  await expect(row(page, 'redriven').first()).toBeVisible()
})

test('plans, starts, monitors and cancels a replay', async ({ page }) => {
  await open(page, 'pipeline/replays')
  await page.getByRole('button', { name: 'Start a replay' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Start a replay' })
  // Slow enough that it is still running when it is cancelled.
  await dialog.getByLabel(/^Rows a second/).fill('1')
  await dialog.getByRole('button', { name: 'Show the plan' }).click()
  await expect(dialog).toContainText(/records? of \d partitions? would be read/)
  await dialog.getByRole('button', { name: /^Replay [\d,]+ records?$/ }).click()
  const sheet = page.getByRole('dialog', { name: 'Replay of points' })
  await expect(sheet).toContainText('running')
  await expect(sheet.getByRole('progressbar', { name: 'Progress of the replay' })).toBeVisible()
  await expect(sheet).toContainText(/[1-9][\d,]* of [\d,]+ records/)
  await sheet.getByRole('button', { name: 'Cancel the replay…' }).click()
  await page
    .getByRole('dialog', { name: 'Cancel this replay?' })
    .getByRole('button', { name: 'Cancel the replay' })
    .click()
  await expect(sheet).toContainText('cancelled')
  await page.keyboard.press('Escape')
  await expect(row(page, 'cancelled').first()).toBeVisible()
})
