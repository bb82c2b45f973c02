// Rules, alerts and webhooks of a service.

import { randomUUID } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect, onTestFinished, test, vi } from 'vitest'

import { Client, ConflictError, NotFoundError, ValidationError, verifyWebhook } from '../../src/index.js'
import { all, rejection } from '../support/server.js'

const client = Client.fromEnvironment()
const wait = { timeout: 30_000, interval: 200 }

const rules = (alert: string) => `
groups:
  - name: machines
    interval: 1s
    rules:
      - alert: ${alert}
        expr: vector(91.5) > 90
        labels: {severity: page}
`

test('rules are checked, stored and evaluated', async () => {
  const [name, alert] = [`machines-${randomUUID()}`, `Hot_${randomUUID().replaceAll('-', '')}`]
  const wrong = await rejection(client.rules.put(name, rules(alert).replace('> 90', '> (')))
  expect(wrong).toBeInstanceOf(ValidationError)
  expect(wrong).toMatchObject({ details: { problems: [{ line: expect.any(Number) as number }] } })
  const checked = await client.rules.put(name, rules(alert), { dryRun: true })
  expect(checked).toEqual({ name, groups: 1, rules: 1 })
  expect(await rejection(client.rules.get(name))).toBeInstanceOf(NotFoundError)
  const { version } = await client.rules.put(name, rules(alert))
  expect(await client.rules.get(name)).toMatchObject({ version, content: rules(alert) })
  expect((await all(client.rules.iterate())).map((file) => file.name)).toContain(name)
  expect((await client.rules.list({ limit: 1 })).total).toBeGreaterThan(0)
  await vi.waitFor(async () => {
    const firing = await all(client.alerts.iterate({ state: 'firing' }))
    expect(firing.find((each) => each.name === alert)).toMatchObject({
      file: name,
      labels: { severity: 'page' },
    })
  }, wait)
  expect((await client.alerts.list({ limit: 1 })).total).toBeGreaterThan(0)
  await client.rules.delete(name)
  await vi.waitFor(async () => {
    expect((await all(client.alerts.iterate())).map((each) => each.name)).not.toContain(alert)
  }, wait)
}, 90_000)

test('secrets of Alertmanagers are not returned', async () => {
  const url = 'https://alerts.example.com'
  const authorization = { type: 'basic', username: 'ops' } as const
  const [stored] = await client.alerts.setAlertmanagers([
    {
      url,
      authorization: { ...authorization, password: 'correct horse' },
      headers: [{ name: 'X-Tenant', value: 'a' }],
    },
  ])
  expect(stored).toMatchObject({ url, authorization, headers: [{ name: 'X-Tenant' }] })
  expect(await client.alerts.alertmanagers()).toEqual([stored])
  const other = { url: `${url}/other`, authorization: { type: 'bearer' } } as const
  const refused = await rejection(client.alerts.setAlertmanagers([other]))
  expect(refused).toBeInstanceOf(ValidationError)
  expect(refused).toMatchObject({ details: { field: 'alertmanagers[0].authorization.token' } })
  expect(await client.alerts.setAlertmanagers([{ url, authorization }])).toMatchObject([
    { url, authorization, headers: [] },
  ])
  expect(await client.alerts.setAlertmanagers([])).toEqual([])
})

interface Received {
  headers: IncomingHttpHeaders
  body: string
}

/** Starts a server that accepts all requests, and returns its address and a function that returns the next one. */
async function receiver(): Promise<{ url: string; next: () => Promise<Received> }> {
  const received: Received[] = []
  const http = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      received.push({ headers: request.headers, body: Buffer.concat(chunks).toString() })
      response.writeHead(204).end()
    })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  const next = () => vi.waitFor(() => received.shift() ?? expect.fail('nothing was received'), wait)
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/hook`, next }
}

test('webhooks send signed events', async () => {
  const { url, next } = await receiver()
  const { webhooks } = client
  const room = await client.nodes.create({ name: 'Room', entityType: 'concept' })
  const created = { name: `on call ${randomUUID()}`, url, nodeIds: [room.id] }
  const { id, secret } = await webhooks.create({ ...created, events: ['node.updated'] })
  expect(await rejection(webhooks.create({ ...created, events: ['node.updated'] }))).toBeInstanceOf(
    ConflictError,
  )
  await client.nodes.update(room.id, { name: 'Room 7' })
  const first = await next()
  expect(await verifyWebhook(secret, first.headers, first.body)).toMatchObject({
    type: 'node.updated',
    data: { node: { name: 'Room 7' } },
  })

  const rolled = await webhooks.rollSecret(id)
  const tested = await webhooks.test(id)
  const second = await next()
  for (const each of [secret, rolled.secret]) {
    expect((await verifyWebhook(each, second.headers, second.body)).type).toBe('webhook.test')
  }
  await vi.waitFor(async () => {
    expect(await all(webhooks.iterateDeliveries(id, { state: 'delivered' }))).toHaveLength(2)
  }, wait)
  expect((await webhooks.deliveries(id, { limit: 1 })).total).toBe(2)
  await webhooks.redeliver(id, tested.id)
  const again = await next()
  expect((await verifyWebhook(rolled.secret, again.headers, again.body)).id).toBe(tested.eventId)

  expect(await webhooks.update(id, { enabled: false, nodeIds: null })).toMatchObject({
    enabled: false,
    nodeIds: [],
  })
  expect(await rejection(webhooks.test(id))).toBeInstanceOf(ConflictError)
  expect((await all(webhooks.iterate())).map((each) => each.id)).toContain((await webhooks.get(id)).id)
  expect((await webhooks.list({ limit: 1 })).total).toBeGreaterThan(0)
  await webhooks.delete(id)
  expect(await rejection(webhooks.get(id))).toBeInstanceOf(NotFoundError)
}, 120_000)
