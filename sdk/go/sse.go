package livegraph

import (
	"bytes"
	"strings"
)

// maxEvent is the maximum length of an event in bytes.
const maxEvent = 64 << 20

// sseParser splits the bytes of a stream into events, as the HTML standard defines them.
type sseParser struct {
	lastID string // the position up to which everything was returned

	line    []byte
	started bool // the byte order mark was skipped
	afterCR bool // a line feed belongs to the line end before
	id      string
	event   string
	data    []byte
	hasData bool
}

func newParser(lastID string) *sseParser { return &sseParser{lastID: lastID, id: lastID} }

// feed calls yield with the events that the chunk completes, until it returns false. The result is false if an event
// is too long, or yield returned false.
func (p *sseParser) feed(chunk []byte, yield func(Event) bool) (ok bool) {
	for len(chunk) > 0 {
		if p.afterCR && chunk[0] == '\n' {
			chunk = chunk[1:]
		}
		p.afterCR = false
		end := bytes.IndexAny(chunk, "\r\n")
		if end < 0 {
			p.line = append(p.line, chunk...)
			break
		}
		p.line = append(p.line, chunk[:end]...)
		p.afterCR = chunk[end] == '\r'
		chunk = chunk[end+1:]
		if event, complete := p.endLine(); complete && !yield(event) {
			return false
		}
	}
	return len(p.line)+len(p.data) <= maxEvent
}

// endLine processes a line. It returns an event that the line completes.
func (p *sseParser) endLine() (event Event, complete bool) {
	line := string(p.line)
	p.line = p.line[:0]
	if !p.started {
		line, p.started = strings.TrimPrefix(line, "\ufeff"), true
	}
	if line == "" {
		return p.dispatch()
	}
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "data":
		if p.hasData {
			p.data = append(p.data, '\n')
		}
		p.data, p.hasData = append(p.data, value...), true
	case "event":
		p.event = value
	case "id":
		if !strings.Contains(value, "\x00") {
			p.id = value
		}
	}
	return Event{}, false
}

// dispatch ends an event. An id without data moves the position: the server sends it with heartbeats.
func (p *sseParser) dispatch() (event Event, complete bool) {
	event = Event{ID: p.id, Type: p.event, Data: p.data}
	if event.Type == "" {
		event.Type = "message"
	}
	complete = len(p.data) > 0
	p.lastID, p.event, p.data, p.hasData = p.id, "", nil, false
	return event, complete
}
