import { describe, expect, it } from 'vitest'

import { EventParser, type ServerEvent } from './sse'

/** Returns all events of a stream that arrives in chunks of `size` characters. */
function read(text: string, size: number, parser = new EventParser()): ServerEvent[] {
  const events: ServerEvent[] = []
  for (let i = 0; i < text.length; i += size) events.push(...parser.push(text.slice(i, i + size)))
  return events
}

describe('the event stream parser', () => {
  const stream =
    ': hello\n\nid: 7\nevent: change\ndata: {"a":1}\n\ndata: first\r\ndata:second\r\n\r\nid\nretry: 1500\n\nevent: none\n\ndata\n\n'
  const expected: ServerEvent[] = [
    { event: 'change', data: '{"a":1}', id: '7' },
    { event: 'message', data: 'first\nsecond', id: '7' },
    { event: 'message', data: '', id: '' },
  ]

  it.each([1, 2, 3, 5, 7, 1000])('parses the stream in chunks of %s characters', (size) =>
    expect(read(stream, size)).toEqual(expected),
  )

  it('accepts CR as a line ending', () => {
    // The last line is incomplete, because a line feed could follow.
    expect(read('data: a\rdata: b\r\rdata: c\r\r.', 100)).toEqual([
      { event: 'message', data: 'a\nb', id: '' },
      { event: 'message', data: 'c', id: '' },
    ])
  })

  it('keeps the last event id across events', () => {
    const parser = new EventParser('41')
    expect(read('data: x\n\nid: 42\n\n', 4, parser)).toEqual([{ event: 'message', data: 'x', id: '41' }])
    expect(parser.id).toBe('42')
    expect(read('id: a\0b\ndata: y\n\n', 100, parser)).toEqual([{ event: 'message', data: 'y', id: '42' }])
  })

  it('drops an incomplete event', () => {
    const parser = new EventParser()
    expect(read('id: 9\ndata: half', 100, parser)).toEqual([])
    expect(parser.id).toBe('')
  })

  it('parses the retry delay', () => {
    const parser = new EventParser()
    read('retry: 250\nretry: soon\n\n', 100, parser)
    expect(parser.retry).toBe(250)
  })
})
