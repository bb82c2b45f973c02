// The text of Server-Sent Events, read piece by piece.

export interface ServerEvent {
  /** `message` where the server did not name it. */
  event: string
  data: string
  /** Of this event or the last before it that had one. */
  id: string
}

/** Reads the wire format. One for each connection; `id` outlives it when it is handed on. */
export class EventParser {
  private rest = ''
  private data: string[] = []
  private event = ''
  /** That of the event which is being read: it counts when that is whole. */
  private nextId: string
  /** The last event's id. */
  id: string
  /** The delay in milliseconds before clients reconnect; null: not set by the server. */
  retry: number | null = null

  constructor(lastId = '') {
    this.id = lastId
    this.nextId = lastId
  }

  /** Parses the next chunk, which may end anywhere, and returns the events that it completes. */
  push(piece: string): ServerEvent[] {
    const events: ServerEvent[] = []
    this.rest += piece
    // A CR at the very end may be the first half of CR LF: it waits for what follows.
    const lines = this.rest.split(/\r\n|\n|\r(?!$)/)
    this.rest = lines.pop() ?? ''
    for (const line of lines) {
      const done = this.line(line)
      if (done) events.push(done)
    }
    return events
  }

  private line(line: string): ServerEvent | null {
    if (line === '') return this.dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return null // a comment: a heartbeat
    const field = colon < 0 ? line : line.slice(0, colon)
    let value = colon < 0 ? '' : line.slice(colon + 1)
    if (value.startsWith(' ')) value = value.slice(1)
    if (field === 'data') this.data.push(value)
    else if (field === 'event') this.event = value
    else if (field === 'id' && !value.includes('\0')) this.nextId = value
    else if (field === 'retry' && /^\d+$/.test(value)) this.retry = Number(value)
    return null
  }

  private dispatch(): ServerEvent | null {
    this.id = this.nextId
    const event = { event: this.event || 'message', data: this.data.join('\n'), id: this.id }
    const empty = this.data.length === 0
    this.data = []
    this.event = ''
    return empty ? null : event
  }
}
