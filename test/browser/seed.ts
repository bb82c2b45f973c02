// Creates the state before the first spec: a session, and three workspaces in addition to the demo workspace.

import { existsSync, writeFileSync } from 'node:fs'

import { request } from '@playwright/test'

import { Admin } from './admin.ts'
import { call, control, FIRST, NASTY, SEED, type Seed, SESSION, type Tenant, URL_OF } from './support.ts'

/** A value that ClickHouse refuses while dead letters are created. */
const REFUSED_VALUE = 666.25

export default async function seedAll(): Promise<void> {
  if (existsSync(SEED)) return // another run against the same server
  const browser = await request.newContext({ baseURL: URL_OF })
  const admin = await Admin.logIn(browser)
  await browser.storageState({ path: SESSION })

  const plant = await admin.tenant('Plant', 'live')
  const empty = await admin.workspace('Nothing here yet', 'live')
  const nasty = await admin.tenant(NASTY, 'test')
  await fillDemo({ workspace: FIRST.WorkspaceID, key: FIRST.AdminKey })
  const seed: Seed = {
    plant: { ...plant, ...(await fillPlant(plant)) },
    nasty: { ...nasty, ...(await fillNasty(nasty)) },
    empty: { workspace: empty },
  }
  writeFileSync(SEED, JSON.stringify(seed))
  await browser.dispose()
}

/** Creates documents in the demo workspace. They mention no other node. */
async function fillDemo(of: Tenant): Promise<void> {
  await call(of, 'POST', '/api/documents', {
    documents: [
      {
        externalId: 'handbook/kitchen.md',
        contentType: 'text/markdown',
        text: '# Kitchen\n\nWhoever drinks the last tea makes a new one.',
        tags: ['handbook'],
        timestamp: '2026-11-21T07:40:08Z',
      },
      { externalId: 'note-12', title: 'Tea', text: 'There is no green tea left.', tags: ['note', 'kitchen'] },
    ],
  })
}

const NODES = [
  ['Pump 7', 'object', 'Circulation pump in the cellar. It feeds the boiler and trips when its bearing runs hot.'],
  ['Boiler 2', 'object', 'Gas boiler, 400 kW. Heats the water of the north wing.'],
  ['Valve V-12', 'object', 'Control valve between the boiler and the north wing.'],
  ['Heating', 'process', 'Keeps the north wing at 21 degrees from October to April.'],
  ['Ana Ruiz', 'actor', 'Maintains the heating. On call on weekdays.'],
  ['Overheating', 'concept', 'A bearing or a coil that runs hotter than it may.'],
] as const

const EDGES = [
  ['Pump 7', 'feeds', 'Boiler 2'],
  ['Boiler 2', 'heats through', 'Valve V-12'],
  ['Heating', 'runs on', 'Boiler 2'],
  ['Ana Ruiz', 'maintains', 'Pump 7'],
  ['Pump 7', 'suffers from', 'Overheating'],
] as const

async function fillPlant(of: Tenant): Promise<Pick<Seed['plant'], 'source' | 'nodes'>> {
  const nodes = Object.fromEntries(NODES.map(([name]) => [name, crypto.randomUUID()]))
  await call(of, 'POST', '/api/commands/batch', {
    commands: [
      ...NODES.map(([name, entityType, description]) => ({
        type: 'CREATE_NODE',
        payload: { id: nodes[name], name, entityType, description, properties: { site: 'north' } },
      })),
      ...EDGES.map(([source, relationType, target]) => ({
        type: 'CREATE_EDGE',
        payload: { sourceId: nodes[source], targetId: nodes[target], relationType },
      })),
    ],
  })
  const { id: source } = await call<{ id: string }>(of, 'POST', '/api/live-data/sources', {
    name: 'boiler',
    nodeId: nodes['Boiler 2'],
    description: 'Gateway in the cellar',
    metrics: [{ name: 'temperature', unit: '°C' }],
    tags: { room: 'cellar' },
    intervalSeconds: 1,
  })
  const now = Date.now()
  await call(of, 'POST', '/api/live-data/ingest', {
    sourceId: source,
    metric: 'temperature',
    points: Array.from({ length: 120 }, (_, i) => ({
      timestamp: now - i * 1000,
      value: 71 + Math.sin(i / 9),
      tags: { sensor: i % 2 ? 'in' : 'out' },
    })),
  })
  // Bodies of one point each: a dead letter to redrive, one to discard, and one that is kept for the screenshots.
  const body = (metric: string) => ({ sourceId: source, points: [{ metric, timestamp: now, value: REFUSED_VALUE }] })
  await control('create-dead-letters', { ...of, bodies: [body('redriven'), body('discarded'), body('kept')] })
  return { source, nodes }
}

async function fillNasty(of: Tenant): Promise<Omit<Seed['nasty'], keyof Tenant>> {
  const [node, other, edge] = [crypto.randomUUID(), crypto.randomUUID(), crypto.randomUUID()]
  await call(of, 'POST', '/api/commands/batch', {
    commands: [
      ...[node, other].map((id) => ({
        type: 'CREATE_NODE',
        payload: {
          id,
          name: NASTY,
          entityType: 'concept',
          description: `${NASTY}\n${NASTY}`,
          properties: { [NASTY]: NASTY, __proto__x: { deep: NASTY }, list: [NASTY] },
        },
      })),
      {
        type: 'CREATE_EDGE',
        payload: { id: edge, sourceId: node, targetId: other, relationType: NASTY, properties: { [NASTY]: NASTY } },
      },
    ],
  })
  const { id: source } = await call<{ id: string }>(of, 'POST', '/api/live-data/sources', {
    name: NASTY,
    nodeId: node,
    description: NASTY,
    unit: NASTY.slice(0, 32),
    metrics: [{ name: NASTY, unit: NASTY.slice(0, 32), description: NASTY }],
    tags: { [NASTY]: NASTY },
  })
  const points = (metric: string, value: number | string) => ({
    sourceId: source,
    points: [{ metric, timestamp: Date.now(), value, tags: { [NASTY]: NASTY } }],
  })
  await call(of, 'POST', '/api/live-data/ingest', points(NASTY, 1))
  await call(of, 'POST', '/api/live-data/ingest', points(`text ${NASTY}`, NASTY))
  await control('create-dead-letters', { ...of, bodies: [points(NASTY, REFUSED_VALUE)] })
  const { documents } = await call<{ documents: { id: string }[] }>(of, 'POST', '/api/documents', {
    documents: [
      {
        externalId: NASTY,
        title: NASTY,
        text: `${NASTY} is a text. `.repeat(100),
        sourceUrl: 'vendor:nothing',
        tags: [NASTY],
      },
    ],
  })
  // Adds a hostile user agent to the audit log.
  await fetch(`${URL_OF}/api/me`, { headers: { Authorization: `Bearer ${of.key}`, 'User-Agent': NASTY } })
  return { source, node, edge, document: documents[0]?.id ?? '' }
}
