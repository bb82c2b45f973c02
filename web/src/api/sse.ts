// An incremental parser of Server-Sent Events.

export interface ServerEvent {
  /** `message` if the server did not set it. */
  event: string
  data: string
  /** The id of this event or of the last earlier event that had one. */
  id: string
}

/** Parses the event stream of one connection. Pass `id` to the parser of the next connection. */
export class EventParser {
  private buffer = ''
  private data: string[] = []
  private event = ''
  /** The id of the incomplete event. It becomes `id` when the event is complete. */
  private nextId: string
  /** The id of the last event. */
  id: string
  /** The delay in milliseconds before clients reconnect; null if the server did not set it. */
  retry: number | null = null

  constructor(lastId = '') {
    this.id = lastId
    this.nextId = lastId
  }

  /** Parses the next chunk, which may end anywhere, and returns the events that it completes. */
  push(chunk: string): ServerEvent[] {
    const events: ServerEvent[] = []
    this.buffer += chunk
    // A CR at the end of a chunk may be the first half of CR LF, so it stays in the buffer.
    const lines = this.buffer.split(/\r\n|\n|\r(?!$)/)
    this.buffer = lines.pop() ?? ''
    for (const line of lines) {
      const completed = this.parseLine(line)
      if (completed) events.push(completed)
    }
    return events
  }

  private parseLine(line: string): ServerEvent | null {
    if (line === '') return this.dispatch()
    const colon = line.indexOf(':')
    if (colon === 0) return null // a comment is a heartbeat
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
