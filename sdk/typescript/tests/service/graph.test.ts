// The graph, documents, search and PromQL of a service.

import { randomUUID } from 'node:crypto'

import { expect, test } from 'vitest'

import { batchError, Client, commands, ConflictError, NotFoundError, type Problem } from '../../src/index.js'
import { all, rejection } from '../support/server.js'

const client = Client.fromEnvironment()

test('the graph is analyzed', async () => {
  const { analyses, nodes } = client
  const node = await nodes.create({ name: 'analyzed', entityType: 'concept' })
  const queued = await analyses.create({
    algorithm: 'degree',
    entityTypes: ['concept'],
    relationTypes: ['none'],
    property: 'degree',
  })
  const done = await analyses.wait(queued.id)
  expect(done).toMatchObject({ state: 'done', error: null })
  expect(done.result?.top.length).toBeGreaterThan(0)
  expect((await nodes.get(node.id)).properties).toMatchObject({ degree: 0 })
  expect(await rejection(analyses.cancel(queued.id))).toBeInstanceOf(ConflictError)
  expect((await all(analyses.iterate())).map((each) => each.id)).toContain(queued.id)
  expect((await analyses.list({ limit: 1 })).total).toBeGreaterThan(0)
})

test('queries are saved and run', async () => {
  const { savedQueries } = client
  const name = `pumps ${randomUUID()}`
  const wrong = await rejection(savedQueries.create({ name, kind: 'search', request: { query: '' } }))
  expect(wrong).toMatchObject({ details: { field: 'request.query' } })
  const request = { query: 'pumps that leak', limit: 5 }
  const { id } = await savedQueries.create({ name, kind: 'search', request })
  const twice = await rejection(savedQueries.create({ name, kind: 'answer', request }))
  expect(twice).toBeInstanceOf(ConflictError)
  expect((await savedQueries.runNodes(id, { limit: 3 })).meta.limit).toBe(3)
  const changes = { expectedVersion: 1, kind: 'hybrid-search', request: { hops: 1, limit: null } } as const
  const changed = await savedQueries.update(id, changes)
  expect(changed).toMatchObject({ version: 2, request: { query: 'pumps that leak', hops: 1 } })
  expect(await rejection(savedQueries.update(id, changes))).toBeInstanceOf(ConflictError)
  expect((await savedQueries.runHybrid(id, { query: 'fans', offset: 1 })).meta.offset).toBe(1)
  await savedQueries.update(id, { kind: 'answer' })
  expect((await savedQueries.runAnswer(id, { query: '?' })).answer).toBeNull()
  expect((await savedQueries.get(id)).kind).toBe('answer')
  expect((await savedQueries.list({ name, limit: 1 })).total).toBe(1)
  expect(
    (await all(savedQueries.iterate({ kind: 'answer', sort: '-name' }))).map((each) => each.id),
  ).toContain(id)
  await savedQueries.delete(id)
  expect(await rejection(savedQueries.get(id))).toBeInstanceOf(NotFoundError)
})

test('nodes and edges are created, changed and deleted', async () => {
  const { nodes, edges } = client
  const site = randomUUID()
  const pump = await nodes.create({
    name: 'Pump',
    entityType: 'object',
    description: 'moves water',
    properties: { site, kW: 11 },
  })
  const hall = await nodes.create({
    name: 'Hall',
    entityType: 'concept',
    id: randomUUID(),
    properties: { site },
  })
  const edge = await edges.create({ sourceId: pump.id, targetId: hall.id, relationType: 'located in' })
  const first = { expectedVersion: 1 }
  const changed = await nodes.update(pump.id, { description: null, properties: { kW: null } }, first)
  expect(changed).toMatchObject({ description: null, properties: { site }, version: 2 })
  const conflict = await rejection(nodes.update(pump.id, { name: 'Pump 2' }, first))
  expect(conflict).toBeInstanceOf(ConflictError)
  expect(conflict).toMatchObject({ details: { expectedVersion: 1, actualVersion: 2 } })
  expect((await edges.update(edge.id, { relationType: 'is in' })).version).toBe(2)
  const found = await all(edges.iterate({ nodeId: [hall.id], relationType: 'is in' }))
  expect(found.map(({ id }) => id)).toEqual([edge.id])
  expect((await edges.get(edge.id)).relationType).toBe('is in')
  const page = await nodes.neighbors(hall.id, { direction: 'in', depth: 2 })
  expect(page.items.map(({ node }) => node.id)).toEqual([pump.id])
  expect(page.meta.truncated).toBe(false)
  expect(await all(nodes.iterateNeighbors(hall.id))).toHaveLength(1)
  const around = await nodes.subgraph([hall.id, pump.id], { depth: 0 })
  expect(around.edges.map(({ id }) => id)).toEqual([edge.id])
  const matches = await nodes.match({
    nodes: { hall: { nodeIds: [hall.id] }, pump: {} },
    edges: [{ from: 'pump', to: 'hall', direction: 'both' }],
  })
  expect(matches.matches.map((match) => match.nodes.pump)).toEqual([pump.id])
  const counts = await client.graphCounts({ limit: 1 })
  expect(counts.edges?.types).toHaveLength(1)
  const asOf = '9999-01-01T00:00:00Z'
  const past = await nodes.get(pump.id, { asOf })
  expect(past).toMatchObject({ id: pump.id, version: 2 })
  const { asOfSequence } = past
  expect(await edges.get(edge.id, { asOfSequence })).toMatchObject({ relationType: 'is in', asOfSequence })
  expect((await nodes.neighbors(hall.id, { asOfSequence })).meta.asOfSequence).toBe(asOfSequence)
  expect((await nodes.subgraph([hall.id], { asOfSequence })).edges.map(({ id }) => id)).toEqual([edge.id])
  const paths = await nodes.paths(hall.id, pump.id, {
    limit: 5,
    maxDepth: 2,
    relationType: ['is in'],
    entityType: 'actor',
  })
  expect(paths.items.map((path) => path.nodes.map(({ id }) => id))).toEqual([[hall.id, pump.id]])
  expect(paths.items[0]?.edges[0]?.id).toBe(edge.id)
  expect(paths.meta.truncated).toBe(false)
  expect((await nodes.paths(hall.id, pump.id, { direction: 'out' })).items).toEqual([])
  expect((await nodes.paths(hall.id, hall.id, { weight: 'km' })).items[0]?.cost).toBe(0)
})

test('deletions are undone and redone, and the history has all changes', async () => {
  const { nodes, edges, changes } = client
  const pump = await nodes.create({ name: 'Pump', entityType: 'object' })
  const edge = await edges.create({ sourceId: pump.id, targetId: pump.id, relationType: 'drives' })
  const deleted = await nodes.delete(pump.id, { expectedVersion: 1 })
  expect(deleted.affected.edges).toEqual([edge.id])
  expect(await rejection(nodes.get(pump.id))).toBeInstanceOf(NotFoundError)
  const chunks = await all(changes.iterateEdges(deleted.sequence ?? expect.fail()))
  expect(chunks.flatMap((chunk) => chunk.edges)).toEqual([edge.id])
  await client.commands.undo({ commandId: deleted.commandId })
  await client.commands.redo()
  await client.commands.undo()
  expect((await client.commands.get(deleted.commandId)).status).toBe('applied')
  expect((await edges.delete(edge.id)).type).toBe('DELETE_EDGE')
  const types = (await all(changes.iterate({ nodeId: pump.id }))).map(({ type }) => type)
  expect(types.at(-1)).toBe('CREATE_NODE')
  expect((await changes.list({ nodeId: pump.id, limit: 1 })).total).toBe(types.length)
})

test('upserts create once and then change', async () => {
  const node = { key: { serial: randomUUID() }, entityType: 'object' as const }
  const edge = commands.upsertEdge({ source: node, target: node, relationType: 'feeds' })
  const { results } = await client.commands.batch([
    commands.upsertNode(node),
    commands.upsertNode(node),
    edge,
    edge,
  ])
  expect(results.map(({ data }) => data?.effect)).toEqual(['created', 'unchanged', 'created', 'unchanged'])
  const changed = await client.commands.execute(commands.upsertNode({ ...node, name: 'Pump' }))
  expect([changed.effect, changed.node?.name]).toEqual(['updated', 'Pump'])
})

test('lists are read page by page', async () => {
  const site = randomUUID()
  const batch = Array.from({ length: 230 }, (_, index) =>
    commands.createNode({ name: `node ${index}`, entityType: 'process', properties: { site } }),
  )
  expect((await client.commands.batch(batch)).results).toHaveLength(230)
  const found = await all(client.nodes.iterate({ property: { site }, sort: '-name' }))
  expect(new Set(found.map(({ id }) => id)).size).toBe(230)
  const page = await client.nodes.list({ property: { site }, limit: 100, offset: 200 })
  expect([page.length, page.total, page.hasMore]).toEqual([30, 230, false])
})

test('a batch that is not atomic has the error of each command', async () => {
  const { results } = await client.commands.batch(
    [commands.createNode({ name: 'a', entityType: 'actor' }), commands.deleteNode(randomUUID())],
    { atomic: false },
  )
  expect(results.map(({ status }) => status)).toEqual(['applied', 'failed'])
  expect(batchError(results[1]?.error as Problem)).toBeInstanceOf(NotFoundError)
})

test('a command with the same idempotency key is executed once', async () => {
  const idempotencyKey = randomUUID()
  const command = commands.createNode({ name: 'once', entityType: 'concept' })
  const first = await client.commands.execute(command, { idempotencyKey })
  expect((await client.commands.execute(command, { idempotencyKey })).commandId).toBe(first.commandId)
})

test('changes are streamed, and the stream is resumed', async () => {
  const node = await client.nodes.create({ name: 'streamed', entityType: 'concept' })
  const [newest] = await client.changes.list({ limit: 1 })
  const stream = client.changes.stream({ after: (newest?.sequence ?? 0) - 1 })
  for await (const event of stream) {
    expect(event).toMatchObject({ event: 'change', data: { node: { id: node.id } } })
    break
  }
  await client.nodes.update(node.id, { name: 'changed' })
  for await (const event of client.changes.stream({ after: stream.lastId })) {
    expect(event).toMatchObject({ data: { node: { name: 'changed' } } })
    break
  }
})

test('a stream of another graph is reset', async () => {
  await client.nodes.create({ name: 'reset', entityType: 'concept' })
  const stream = client.changes.stream({ after: 2 ** 40 })
  for await (const event of stream) {
    expect(event).toMatchObject({ event: 'reset', data: { reason: 'beyond_newest' } })
    if (event.event === 'reset') expect(stream.lastId).toBe(String(event.data.newest))
    break
  }
})

test('documents are written, found and deleted', async () => {
  const { documents, search } = client
  const externalId = `notes/${randomUUID()}.md`
  const text = '# Compressor\n\nThe compressor in the attic supplies the paint shop with compressed air.'
  const put = () => documents.put([{ externalId, text, contentType: 'text/markdown' }])
  const [created] = await put()
  expect(created?.status).toBe('created')
  expect((await put())[0]?.status).toBe('unchanged')
  expect((await documents.get(externalId)).title).toBe('Compressor')
  expect((await all(documents.iterate())).map((document) => document.externalId)).toContain(externalId)
  expect((await documents.list({ limit: 1 })).total).toBeGreaterThan(0)
  const find = async () => {
    const hits = await search.nodes('who supplies air?', { groupBy: 'document' })
    return hits.items.map(({ document }) => document?.externalId)
  }
  await expect.poll(find, { timeout: 30_000, interval: 200 }).toContain(externalId)
  const hits = await search.hybrid('compressor', {
    hops: 1,
    explain: true,
    weights: { text: 1, vector: 0.5 },
    facets: ['entityType'],
  })
  expect(hits.items[0]?.score).toBe(1)
  expect(hits.meta.facets?.entityType?.values.length).toBeGreaterThan(0)
  const { answer, citations } = await search.answer('who supplies compressed air?', {
    maxSentences: 1,
    hops: 1,
  })
  expect(answer).toBe('The compressor in the attic supplies the paint shop with compressed air. [1]')
  expect(citations[0]?.document?.externalId).toBe(externalId)
  expect((await search.answer('?')).answer).toBeNull()
  expect((await search.indexStatus()).model).not.toBeNull()
  const deleted = await documents.delete(externalId)
  expect(await rejection(documents.get(externalId))).toBeInstanceOf(NotFoundError)
  await client.commands.undo({ commandId: deleted.commandId })
  expect((await documents.get(created?.id ?? '')).externalId).toBe(externalId)
})

test('a file becomes a document', async () => {
  const externalId = `files/${randomUUID()}.pdf`
  const data = new TextEncoder().encode(pdf('Bearing temperatures'))
  const [result] = await client.documents.put([{ externalId, data, contentType: 'application/pdf' }])
  expect(result?.status).toBe('created')
  const document = await client.documents.get(externalId)
  expect(document.contentType).toBe('application/pdf')
  // A short text is the description of the document's node.
  expect((await client.nodes.get(document.id)).description).toContain('Bearing temperatures')
})

/** Returns a PDF file with a text. Readers of PDF repair the missing table of its objects. */
function pdf(text: string): string {
  const content = `BT /F1 24 Tf 72 700 Td (${text}) Tj ET`
  return `%PDF-1.4
1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj
2 0 obj <</Type /Pages /Kids [3 0 R] /Count 1>> endobj
3 0 obj <</Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R
  /Resources <</Font <</F1 <</Type /Font /Subtype /Type1 /BaseFont /Helvetica>>>>>>>> endobj
4 0 obj <</Length ${content.length}>> stream
${content}
endstream endobj
trailer <</Root 1 0 R>>
%%EOF
`
}

test('PromQL is evaluated', async () => {
  const source = `prom_${randomUUID().replaceAll('-', '')}`
  await client.sources.create({ name: source })
  const { checkpoint } = await client.points.write([{ metric: 'level', value: 3 }], { source })
  await client.waitVisible(checkpoint)
  const now = Date.now()
  const result = await client.prometheus.query('sum(level) * 2', { time: new Date(now + 1000) })
  expect(result.data.resultType).toBe('vector')
  const times = { start: new Date(now - 60_000), end: new Date(now), step: 15 }
  const ranged = await client.prometheus.queryRange('vector(2)', times)
  expect(ranged.data.result).toMatchObject([
    { values: Array.from({ length: 5 }, () => [expect.anything() as unknown, '2']) },
  ])
  expect(await rejection(client.prometheus.query('sum('))).toMatchObject({
    name: 'ValidationError',
    status: 400,
    code: 'bad_data',
    requestId: expect.stringMatching(/^req_/) as string,
  })
})
