// Answers that are streamed.

import { expect, test } from 'vitest'

import { type AnswerPart, ResponseError, ServerError, TransportError } from '../../src/index.js'
import { failure, replies, type Reply } from '../support/server.js'

const tokens =
  ': an answer\n\nevent: token\ndata: {"text":"It "}\n\nevent: token\ndata: {"text":"runs [1]."}\n\n'
const last =
  'event: answer\ndata: {"success":true,"data":{"answer":"It runs [1].","sentences":[],"citations":[]},' +
  '"meta":{"degraded":["generation"]},"requestId":"req_1"}\n\n'
const failed =
  'event: error\ndata: {"success":false,"error":{"code":"INTERNAL_ERROR","message":"no"},"requestId":"req_1"}\n\n'

function stream(body: string): Reply {
  return { body, headers: { 'Content-Type': 'text/event-stream' } }
}

async function read(parts: AsyncIterable<AnswerPart>): Promise<AnswerPart[]> {
  const list: AnswerPart[] = []
  for await (const part of parts) list.push(part)
  return list
}

test('an answer is received in parts', async () => {
  const server = await replies(failure(503), stream(tokens + last))
  const parts = await read(server.client().search.streamAnswer('does it run?', { mode: 'generate' }))
  expect(parts).toEqual([
    { text: 'It ' },
    { text: 'runs [1].' },
    { text: '', answer: { answer: 'It runs [1].', sentences: [], citations: [] }, degraded: ['generation'] },
  ])
  expect(server.requests).toHaveLength(2)
  expect(server.requests[1]?.headers.accept).toBe('text/event-stream')
})

test.each([
  [tokens, TransportError],
  [tokens + failed, ServerError],
  ['event: answer\ndata: {}\n\n', ResponseError],
  ['event: token\ndata: 7\n\n', ResponseError],
  ['event: other\ndata: {}\n\n', ResponseError],
])('an answer that fails is an error: %s', async (body, error) => {
  const server = await replies(stream(body))
  await expect(read(server.client().search.streamAnswer('does it run?'))).rejects.toThrow(error)
  expect(server.requests).toHaveLength(1)
})
