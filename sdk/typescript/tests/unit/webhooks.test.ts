// The signatures of webhooks.

import { createHmac } from 'node:crypto'

import { expect, test } from 'vitest'

import { SignatureError, verifyWebhook } from '../../src/index.js'
import { answer, rejection, replies } from '../support/server.js'

const key = Buffer.from(Array.from({ length: 32 }, (_, i) => i))
const secret = `whsec_${key.toString('base64')}`
const other = `whsec_${Buffer.alloc(32).toString('base64')}`
const sent = 1_795_851_608
const now = sent * 1000
const event = {
  id: '5d0c1c1e-5c0a-5f0e-9a57-0d4f3f0b7a11',
  type: 'alert.firing',
  timestamp: '2026-11-28T07:40:08.290296Z',
  workspaceId: '01994d8a-0000-7000-8000-000000000001',
  data: { alertname: 'Heiß', value: '91.5' },
}
const body = JSON.stringify(event)

/** Returns the headers of a request, signed as Standard Webhooks specifies. */
function headers(signing = key, at = sent): Record<string, string> {
  const signature = createHmac('sha256', signing).update(`${event.id}.${at}.${body}`).digest('base64')
  return {
    'Webhook-Id': event.id,
    'webhook-timestamp': String(at),
    'WEBHOOK-SIGNATURE': `v1,${signature}`,
  }
}

test('a signed request becomes an event', async () => {
  expect(await verifyWebhook(secret, headers(), body, { now: now + 299_000 })).toEqual(event)
  const bytes = new TextEncoder().encode(body)
  expect(await verifyWebhook(secret, new Headers(headers()), bytes, { now })).toEqual(event)
})

test('one of several secrets and signatures is enough', async () => {
  const signatures = [headers(Buffer.alloc(32)), headers()].map((each) => each['WEBHOOK-SIGNATURE'])
  const two = { ...headers(), 'WEBHOOK-SIGNATURE': signatures.join(' v2,abc ') }
  expect((await verifyWebhook(secret, two, body, { now })).id).toBe(event.id)
  expect((await verifyWebhook([other, secret], headers(), body, { now })).id).toBe(event.id)
  const list = { ...headers(), 'WEBHOOK-SIGNATURE': ['v1,AAAA', headers()['WEBHOOK-SIGNATURE'] ?? ''] }
  expect((await verifyWebhook(secret, list, body, { now })).id).toBe(event.id)
})

test.each([
  ['another body', {}, `${body} `, now],
  ['too late', {}, body, now + 301_000],
  ['too early', {}, body, now - 301_000],
  ['another time', { 'webhook-timestamp': String(sent + 1) }, body, now],
  ['no number', { 'webhook-timestamp': 'now' }, body, now],
  ['a number in hexadecimal', { 'webhook-timestamp': '0x6b0a1b58' }, body, now],
  ['another id', { 'Webhook-Id': 'x' }, body, now],
  ['no id', { 'Webhook-Id': '' }, body, now],
  ['no signature', { 'WEBHOOK-SIGNATURE': '' }, body, now],
  ['an empty signature', { 'WEBHOOK-SIGNATURE': 'v1,' }, body, now],
  ['no base64', { 'WEBHOOK-SIGNATURE': 'v1,ä' }, body, now],
  [
    'another version',
    { 'WEBHOOK-SIGNATURE': headers()['WEBHOOK-SIGNATURE']?.replace('v1', 'v2') },
    body,
    now,
  ],
  ['another key', { 'WEBHOOK-SIGNATURE': headers(Buffer.alloc(32))['WEBHOOK-SIGNATURE'] }, body, now],
])('a request with %s is refused', async (_, changed, received, at) => {
  const error = await rejection(verifyWebhook(secret, { ...headers(), ...changed }, received, { now: at }))
  expect(error).toBeInstanceOf(SignatureError)
})

test('the current time and another tolerance', async () => {
  expect(await rejection(verifyWebhook(secret, headers(key, 1_600_000_000), body))).toBeInstanceOf(
    SignatureError,
  )
  const hour = { now: now + 3_600_000, toleranceSeconds: 3600 }
  expect((await verifyWebhook(secret, headers(), body, hour)).id).toBe(event.id)
})

test.each(['', 'whsec_', 'whsec_!', secret.slice(6)])('%j is not a secret', async (wrong) => {
  const error = await rejection(verifyWebhook(wrong, headers(), body, { now }))
  expect(error).toBeInstanceOf(TypeError)
  expect(String(error)).toContain('begins with whsec_')
})

test('the creation of a webhook, a new secret and a test are not repeated', async () => {
  for (const call of ['create', 'rollSecret', 'test'] as const) {
    const server = await replies('cut', answer({}))
    const { webhooks } = server.client()
    const error = await rejection(
      call === 'create'
        ? webhooks.create({ name: 'a', url: 'https://a', events: ['key.created'] })
        : webhooks[call]('id'),
    )
    expect(error).toBeInstanceOf(Error)
    expect(server.requests).toHaveLength(1)
  }
})
