package load

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

// event is a change as the stream of events has it.
type event struct {
	Sequence  int64
	CommandID uuid.UUID
	ActorID   uuid.UUID
	Type      string
	Node      *resource
	Edge      *resource
}

// feed reads the events of a workspace from the first on, over many connections: each
// goes on where the one before ended.
type feed struct {
	tenant *tenant

	mu     sync.Mutex
	last   int64   // the sequence up to which all was read
	events []event // those that were not compared with the journal yet
}

func newFeed(t *tenant) *feed { return &feed{tenant: t} }

// follow reads for a while on one connection: long enough for a few events, short
// enough that many connections begin in the middle.
func (f *feed) follow(ctx context.Context, dice *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(200+dice.IntN(4000))*time.Millisecond)
	defer cancel()
	round, _ := ctx.Value(endKey{}).(context.Context)
	defer context.AfterFunc(round, cancel)()
	f.read(ctx, math.MaxInt64)
}

// read reads on one connection until a sequence, or until ctx or the connection ends.
func (f *feed) read(ctx context.Context, until int64) {
	after := f.upTo()
	c := f.tenant.load.client
	q := call{
		key: f.tenant.admin, method: http.MethodGet, path: "/api/queries/events?after=0", header: map[string]string{},
	}
	if after > 0 {
		q.path = "/api/queries/events"
		q.header["Last-Event-ID"] = strconv.FormatInt(after, 10)
	}
	request, err := c.request(ctx, q)
	if err != nil {
		return
	}
	response, err := c.http.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	a := &answer{Status: response.StatusCode, Header: response.Header, RequestID: response.Header.Get("X-Request-Id")}
	c.load.uses.note(q, a)
	if a.Status != http.StatusOK {
		if c.judge(q, a); a.Status < http.StatusInternalServerError {
			c.load.wrong.add(
				5, "a stream of events cannot be resumed", "workspace %s after %d, %s: %d", f.tenant.id, after, a.RequestID,
				a.Status,
			)
		}
		return
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	f.parse(lines, a.RequestID, until)
}

// parse takes the stream apart until a sequence: fields of an event a line each, a blank
// line after it. An event that broke off is none.
func (f *feed) parse(lines *bufio.Scanner, request string, until int64) {
	var id, kind, data string
	for f.upTo() < until && lines.Scan() {
		name, text, _ := strings.Cut(lines.Text(), ":")
		text = strings.TrimPrefix(text, " ")
		switch name {
		case "id":
			id = text
		case "event":
			kind = text
		case "data":
			data += text
		case "":
			switch kind {
			case "change":
				f.take(id, data, request)
			case "reset":
				f.tenant.load.wrong.add(5, "a stream of events begins again", "workspace %s, %s: %s", f.tenant.id, request, data)
			}
			id, kind, data = "", "", ""
		}
	}
}

// upTo is the sequence up to which all was read.
func (f *feed) upTo() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// take notes an event.
func (f *feed) take(id, data, request string) {
	l := f.tenant.load
	l.sniff(call{key: f.tenant.admin, method: "event", path: id}, []byte(data))
	var e event
	err := json.Unmarshal([]byte(data), &e)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		l.wrong.add(5, "an event cannot be read", "workspace %s, event %s of %s: %v", f.tenant.id, id, request, err)
		return
	case strconv.FormatInt(e.Sequence, 10) != id:
		l.wrong.add(
			5, "an event has another id than its change", "workspace %s, event %s of %s is change %d", f.tenant.id, id, request,
			e.Sequence,
		)
	case e.Sequence != f.last+1:
		l.wrong.add(
			5, "a stream of events has left something out or repeats it", "workspace %s, %s: %d came after %d", f.tenant.id,
			request, e.Sequence, f.last,
		)
	}
	f.last = max(f.last, e.Sequence)
	f.events = append(f.events, e)
}

// catchUp reads until a sequence.
func (f *feed) catchUp(ctx context.Context, sequence int64) error {
	for f.upTo() < sequence {
		once, cancel := context.WithTimeout(ctx, 2*time.Second)
		f.read(once, sequence)
		cancel()
		if f.upTo() < sequence && !rest(ctx, retryPause) {
			return fmt.Errorf(
				"events of workspace %s were read up to %d, not %d: %w", f.tenant.id, f.upTo(), sequence, ctx.Err(),
			)
		}
	}
	return nil
}

// take gives the events that were not compared yet.
func (f *feed) takeAll() []event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

// compare holds events against the journal's changes of the same sequences.
func (e event) compare(c journalRow) string {
	switch {
	case e.CommandID != c.change.CommandID || e.ActorID != c.change.Actor || e.Type != string(c.change.Type):
		return fmt.Sprintf(
			"event %d is %s %s of %s, the journal has %s %s of %s", e.Sequence, e.Type, e.CommandID, e.ActorID, c.change.Type,
			c.change.CommandID, c.change.Actor,
		)
	case len(c.change.Steps) != 1:
		return ""
	}
	step := c.change.Steps[0]
	switch {
	case step.Node != nil && (e.Node == nil ||
		e.Node.ID != step.Node.ID || e.Node.Version != step.Node.Version ||
		e.Node.Name != step.Node.Name || e.Node.Deleted != step.Node.Deleted):

		return fmt.Sprintf("event %d has node %+v, the journal %+v", e.Sequence, e.Node, step.Node)
	case step.Edge != nil && (e.Edge == nil ||
		e.Edge.ID != step.Edge.ID || e.Edge.Version != step.Edge.Version || e.Edge.Deleted != step.Edge.Deleted):

		return fmt.Sprintf("event %d has edge %+v, the journal %+v", e.Sequence, e.Edge, step.Edge)
	}
	return ""
}
