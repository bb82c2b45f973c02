// Measures the frame times of a graph of five hundred nodes. The times are printed and do not fail the test.

import type { Page } from '@playwright/test'

import { Admin } from '../admin.ts'
import { call, expect, open, type Tenant, test } from '../support.ts'

const HUBS = 10
/** Neighbours of each hub: as many as one expansion loads. */
const LEAVES = 49
const LINKS = 250
const NODES = HUBS + HUBS * LEAVES

test('draws, pans, zooms and searches a graph of five hundred nodes', { tag: '@full' }, async ({ page }) => {
  test.setTimeout(240_000)
  const admin = await Admin.withSession(page.request)
  const large = await admin.tenant('Five hundred nodes', 'test')
  const hubs = await fill(large)
  await open(page, `graph?${hubs.map((id) => `node=${id}`).join('&')}`, large.workspace)
  const counts = page.locator('.graph-count')
  await expect(counts).toHaveText(`${HUBS} nodes, 0 edges`)

  const side = page.getByRole('complementary', { name: 'About the graph' })
  const find = async (name: string) => {
    await page.getByRole('searchbox', { name: 'Find nodes by name' }).fill(name)
    await page.locator('.graph-result').filter({ hasText: name }).first().click()
    await page.keyboard.press('Escape')
    await expect(side.getByRole('heading', { name, exact: true })).toBeVisible()
  }
  for (let i = 0; i < HUBS; i++) {
    await find(`Hub ${i}`)
    await side.getByRole('button', { name: 'Expand', exact: true }).click()
    await expect(counts).toHaveText(new RegExp(`^${HUBS + (i + 1) * LEAVES} nodes, `))
  }
  await expect(counts).toHaveText(`${NODES} nodes, ${HUBS * LEAVES + LINKS} edges`)

  const moving = await frames(page, 3000)
  await page.getByRole('button', { name: 'Release fixed nodes and arrange again' }).click()
  const arranging = await frames(page, 3000)
  const canvas = page.getByRole('application', { name: 'Graph' })
  const box = await canvas.boundingBox()
  if (!box) throw new Error('the canvas has no place')
  const middle = { x: box.x + box.width / 2, y: box.y + box.height / 2 }
  const panning = frames(page, 3000)
  await page.mouse.move(middle.x, box.y + box.height - 20)
  await page.mouse.down()
  for (let i = 0; i < 60; i++)
    await page.mouse.move(middle.x + 120 * Math.sin(i / 6), box.y + box.height - 20 - (i % 30) * 4)
  await page.mouse.up()
  const panned = await panning
  const zooming = frames(page, 3000)
  await page.mouse.move(middle.x, middle.y)
  for (let i = 0; i < 40; i++) await page.mouse.wheel(0, i < 20 ? -60 : 60)
  const zoomed = await zooming
  for (const [what, of] of Object.entries({
    unfolding: moving,
    'arranging anew': arranging,
    'dragging the picture': panned,
    zooming: zoomed,
  }))
    console.log(
      `graph of ${NODES} nodes and ${HUBS * LEAVES + LINKS} edges, ${what}: ${of.count} frames, p50 ${of.p50} ms, p95 ${of.p95} ms, longest ${of.longest} ms`,
    )

  // The page still responds.
  await find('Leaf 3-7')
  await page.getByRole('button', { name: 'Clear the canvas' }).click()
  await expect(counts).toHaveText('0 nodes, 0 edges')
  await admin.delete(`/workspaces/${large.workspace}`)
})

/** Creates hubs with leaves, and edges between leaves. Returns the ids of the hubs. */
async function fill(of: Tenant): Promise<string[]> {
  const hubs = Array.from({ length: HUBS }, () => crypto.randomUUID())
  const leaves = hubs.map(() => Array.from({ length: LEAVES }, () => crypto.randomUUID()))
  const node = (id: string, name: string, entityType: string) => ({
    type: 'CREATE_NODE',
    payload: { id, name, entityType },
  })
  const edge = (sourceId: string, targetId: string, relationType: string) => ({
    type: 'CREATE_EDGE',
    payload: { sourceId, targetId, relationType },
  })
  const flat = leaves.flat()
  const types = ['object', 'process', 'actor', 'concept']
  await call(of, 'POST', '/api/commands/batch', {
    commands: [
      ...hubs.map((id, i) => node(id, `Hub ${i}`, 'object')),
      ...leaves.flatMap((some, i) =>
        some.map((id, j) => node(id, `Leaf ${i}-${j}`, types[j % types.length] ?? 'object')),
      ),
    ],
  })
  await call(of, 'POST', '/api/commands/batch', {
    commands: [
      ...leaves.flatMap((some, i) => some.map((id) => edge(id, hubs[i] ?? id, 'part of'))),
      // Edges between leaves, the same in each run.
      ...Array.from({ length: LINKS }, (_, i) =>
        edge(flat[i] ?? '', flat[(i * 7 + 61) % flat.length] ?? '', 'feeds'),
      ),
    ],
  })
  return hubs
}

/** Measures the milliseconds between frames for the given time. */
function frames(
  page: Page,
  ms: number,
): Promise<{ count: number; p50: string; p95: string; longest: string }> {
  return page.evaluate(
    (ms) =>
      new Promise((done) => {
        const began = performance.now()
        const lengths: number[] = []
        let last = began
        const next = (now: number) => {
          lengths.push(now - last)
          last = now
          if (now - began < ms) {
            requestAnimationFrame(next)
            return
          }
          const sorted = lengths.slice(1).sort((a, b) => a - b)
          const at = (part: number) =>
            (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? NaN).toFixed(1)
          done({ count: sorted.length, p50: at(0.5), p95: at(0.95), longest: at(1) })
        }
        requestAnimationFrame(next)
      }),
    ms,
  )
}
