import { call, expect, open, row, seed, test, waitForPage } from '../support.ts'

test('shows alerts, the files of their rules, and errors of rules', async ({ page }) => {
  const { plant } = seed()
  await call(plant, 'PUT', '/api/rules/machines', {
    groups: [
      {
        name: 'machines',
        interval: '5s',
        rules: [
          {
            alert: 'Bearing hot',
            expr: 'vector(95.5)',
            labels: { severity: 'page', machine: 'pump 7' },
            annotations: { summary: 'The bearing is at {{ $value }} °C' },
          },
          { record: 'ambiguous', expr: '"a text"' },
        ],
      },
    ],
  })
  await open(page, 'alerts', plant.workspace)
  await waitForPage(page, 'Alerts')
  const alert = row(page, 'Bearing hot')
  await expect(alert).toContainText('firing', { timeout: 30_000 })
  await expect(alert).toContainText('The bearing is at 95.5 °C')
  await expect(alert).toContainText('machine=pump 7, severity=page')

  await page.getByRole('tab', { name: 'Rules' }).click()
  await expect(row(page, 'machines')).toContainText('1 rule failing', { timeout: 30_000 })
  await row(page, 'machines').click()
  const file = page.getByRole('dialog')
  await expect(file).toContainText('rule result is not a vector or scalar')
  await expect(file.getByRole('region', { name: 'Rules' })).toContainText('vector(95.5)')
})

test('lists the deliveries of a webhook and sends them again', { tag: '@full' }, async ({ page }) => {
  const { plant } = seed()
  await call(plant, 'POST', '/api/webhooks', {
    name: 'on call',
    url: 'https://hooks.invalid/livegraph',
    events: ['node.created'],
  })
  await open(page, 'alerts/webhooks', plant.workspace)
  await row(page, 'on call').click()
  const dialog = page.getByRole('dialog')
  await expect(dialog).toContainText('No deliveries')
  await dialog.getByRole('button', { name: 'Send a test' }).click()
  const delivery = row(dialog, 'webhook.test')
  await expect(delivery).toContainText('the name of the host cannot be resolved', { timeout: 30_000 })
  await delivery.getByRole('button', { name: 'Send again' }).click()
  await expect(page.getByText('The event is queued').first()).toBeVisible()
  await dialog.getByLabel('Deliveries', { exact: true }).first().selectOption('delivered')
  await expect(dialog).toContainText('No deliveries')
})
