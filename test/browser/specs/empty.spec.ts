import { arrived, expect, open, seed, test } from '../support.ts'

test('every page of an empty workspace says what to do', async ({ page }) => {
  const { workspace } = seed().empty
  const says: [path: string, heading: string, text: RegExp][] = [
    ['sources', 'Sources', /No sources yet/],
    ['sources/explore', 'Data explorer', /No series match|No points/],
    ['graph', 'Graph', /The canvas is empty/],
    ['search?q=anything', 'Search', /Nothing was found/],
    [`keys?workspaceId=${workspace}`, 'Keys', /No key is like that/],
    [`audit?workspaceId=${workspace}`, 'Audit log', /No use is like that/],
    [`pipeline/dead-letters?workspaceId=${workspace}`, 'Pipeline', /No dead letter matches|No open dead letters/],
  ]
  for (const [path, heading, text] of says) {
    await open(page, path, workspace)
    await arrived(page, heading)
    await expect(page.getByText(text).first()).toBeVisible()
  }
  await open(page, 'sources', workspace)
  await expect(page.getByRole('region', { name: 'Send a point' })).toContainText('curl')
  await open(page, 'workspaces?id=' + workspace)
  await expect(page.getByRole('dialog')).toContainText('Keys that work')
})
