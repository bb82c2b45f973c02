import { expect, open, seed, test, waitForPage } from '../support.ts'

test('shows an empty state on every page of an empty workspace', async ({ page }) => {
  const { workspace } = seed().empty
  const says: [path: string, heading: string, text: RegExp][] = [
    ['sources', 'Sources', /No sources yet/],
    ['sources/explore', 'Data explorer', /No series match|No points/],
    ['graph', 'Graph', /The canvas is empty/],
    ['documents', 'Documents', /No documents yet/],
    ['documents?tag=none', 'Documents', /No matching documents/],
    ['alerts', 'Alerts', /No active alert/],
    ['alerts/rules', 'Alerts', /No rules yet/],
    ['alerts/webhooks', 'Alerts', /No webhooks yet/],
    ['search?q=anything', 'Search', /No results/],
    [`keys?workspaceId=${workspace}`, 'Keys', /No matching keys/],
    [`audit?workspaceId=${workspace}`, 'Audit log', /No matching requests/],
    [
      `pipeline/dead-letters?workspaceId=${workspace}`,
      'Pipeline',
      /No matching dead letters|No open dead letters/,
    ],
  ]
  for (const [path, heading, text] of says) {
    await open(page, path, workspace)
    await waitForPage(page, heading)
    await expect(page.getByText(text).first()).toBeVisible()
  }
  await open(page, 'sources', workspace)
  await expect(page.getByRole('region', { name: 'Send a point' })).toContainText('curl')
  await open(page, 'documents', workspace)
  const command = page.getByRole('region', { name: 'Import a directory' })
  await expect(command).toContainText('livegraph documents import DIR')
  await expect(command).toContainText(`--workspace ${workspace}`)
  await open(page, 'workspaces?id=' + workspace)
  await expect(page.getByRole('dialog')).toContainText('Valid keys')
})
