/** Parses Server-Sent Events, as the HTML standard defines them. Nothing here does input or output. */

import { ResponseError } from './errors.js'

const maxEventCharacters = 1 << 26

/** An event of a stream. */
export interface StreamEvent<Kind extends string = string, Data = unknown> {
  /** The position in the stream, with which it can be resumed. */
  readonly id: string
  /** The kind, such as `change` or `points`. */
  readonly event: Kind
  readonly data: Data
}

/** Splits the bytes of a stream into events. */
export class Parser {
  readonly #decoder = new TextDecoder()
  readonly #maxCharacters: number
  #lastId: string
  #id: string
  #event = ''
  #data: string[] = []
  /** The parts of a line whose end has not been received. */
  #partial: string[] = []
  #characters = 0
  #afterReturn = false

  constructor(lastId = '', maxCharacters = maxEventCharacters) {
    this.#lastId = this.#id = lastId
    this.#maxCharacters = maxCharacters
  }

  /** The position up to which everything was returned. */
  get lastId(): string {
    return this.#lastId
  }

  /**
   * Returns the events that the chunk completes.
   *
   * @throws ResponseError if the data of an event is not JSON, or too long
   */
  feed(chunk: Uint8Array): StreamEvent[] {
    let text = this.#decoder.decode(chunk, { stream: true })
    if (text === '') return []
    // A line end of two characters may be split: its first half has ended the line.
    if (this.#afterReturn && text.startsWith('\n')) text = text.slice(1)
    this.#afterReturn = text.endsWith('\r')
    const events: StreamEvent[] = []
    let start = 0
    for (const end of text.matchAll(/\r\n|\n|\r/g)) {
      const event = this.#line(this.#partial.join('') + text.slice(start, end.index))
      this.#partial = []
      start = end.index + end[0].length
      if (event) events.push(event)
    }
    this.#partial.push(text.slice(start))
    const length = this.#partial.reduce((sum, part) => sum + part.length, this.#characters)
    if (length > this.#maxCharacters) throw new ResponseError('An event of the stream is too long')
    return events
  }

  #line(line: string): StreamEvent | undefined {
    if (line === '') return this.#dispatch()
    const colon = line.indexOf(':')
    const name = colon < 0 ? line : line.slice(0, colon)
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
    if (name === 'data') {
      this.#data.push(value)
      this.#characters += value.length
    } else if (name === 'event') this.#event = value
    else if (name === 'id' && !value.includes('\0')) this.#id = value
    return undefined
  }

  #dispatch(): StreamEvent | undefined {
    // An id without data moves the position: the server sends it with heartbeats.
    this.#lastId = this.#id
    const data = this.#data.join('\n')
    const event = this.#event || 'message'
    this.#data = []
    this.#event = ''
    this.#characters = 0
    if (data === '') return undefined
    try {
      return { id: this.#id, event, data: JSON.parse(data) as unknown }
    } catch (cause) {
      throw new ResponseError('The data of an event is not JSON', { cause })
    }
  }
}
