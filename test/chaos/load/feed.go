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

// event is a change in the stream of events.
type event struct {
	Sequence  int64
	CommandID uuid.UUID
	ActorID   uuid.UUID
	Type      string
	Node      *resource
	Edge      *resource
}

// feed reads the events of a workspace from the first on, over many connections: each continues
// where the previous one ended.
type feed struct {
	tenant *tenant

	mu     sync.Mutex
	last   int64   // sequence of the last event read
	events []event // not yet compared with the journal
}

func newFeed(t *tenant) *feed { return &feed{tenant: t} }

// follow reads from one connection for a while: long enough for a few events, short enough that
// many connections begin in the middle.
func (f *feed) follow(ctx context.Context, dice *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(200+dice.IntN(4000))*time.Millisecond)
	defer cancel()
	round, _ := ctx.Value(roundKey{}).(context.Context)
	defer context.AfterFunc(round, cancel)()
	f.read(ctx, math.MaxInt64)
}

// read reads from one connection until a sequence, or until ctx or the connection ends.
func (f *feed) read(ctx context.Context, until int64) {
	lastSequence := f.lastRead()
	c := f.tenant.load.client
	q := call{
		key: f.tenant.admin, method: http.MethodGet, path: "/api/queries/events?after=0", header: map[string]string{},
	}
	if lastSequence > 0 {
		q.path = "/api/queries/events"
		q.header["Last-Event-ID"] = strconv.FormatInt(lastSequence, 10)
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
	c.load.requests.add(q, a)
	if a.Status != http.StatusOK {
		if c.checkAnswer(q, a); a.Status < http.StatusInternalServerError {
			c.load.findings.add(
				5, "a stream of events cannot be resumed", "workspace %s after %d, %s: %d", f.tenant.id, lastSequence, a.RequestID,
				a.Status,
			)
		}
		return
	}
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 16<<20)
	f.parse(lines, a.RequestID, until)
}

// parse parses the stream until a sequence: each field of an event is a line, and a blank line ends
// the event. A truncated event is ignored.
func (f *feed) parse(lines *bufio.Scanner, request string, until int64) {
	var id, kind, data string
	for f.lastRead() < until && lines.Scan() {
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
				f.add(id, data, request)
			case "reset":
				f.tenant.load.findings.add(5, "a stream of events begins again", "workspace %s, %s: %s", f.tenant.id, request, data)
			}
			id, kind, data = "", "", ""
		}
	}
}

// lastRead returns the sequence of the last event read.
func (f *feed) lastRead() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last
}

// add decodes, checks and adds an event.
func (f *feed) add(id, data, request string) {
	l := f.tenant.load
	l.checkLeak(call{key: f.tenant.admin, method: "event", path: id}, []byte(data))
	var e event
	err := json.Unmarshal([]byte(data), &e)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		l.findings.add(5, "an event cannot be read", "workspace %s, event %s of %s: %v", f.tenant.id, id, request, err)
		return
	case strconv.FormatInt(e.Sequence, 10) != id:
		l.findings.add(
			5, "an event has another id than its change", "workspace %s, event %s of %s is change %d", f.tenant.id, id, request,
			e.Sequence,
		)
	case e.Sequence != f.last+1:
		l.findings.add(
			5, "a stream of events has left something out or repeats it", "workspace %s, %s: %d came after %d", f.tenant.id,
			request, e.Sequence, f.last,
		)
	}
	f.last = max(f.last, e.Sequence)
	f.events = append(f.events, e)
}

// catchUp reads events until a sequence.
func (f *feed) catchUp(ctx context.Context, sequence int64) error {
	for f.lastRead() < sequence {
		attempt, cancel := context.WithTimeout(ctx, 2*time.Second)
		f.read(attempt, sequence)
		cancel()
		if f.lastRead() < sequence && !sleep(ctx, retryPause) {
			return fmt.Errorf(
				"events of workspace %s were read up to %d, not %d: %w", f.tenant.id, f.lastRead(), sequence, ctx.Err(),
			)
		}
	}
	return nil
}

// drain returns the events that were not compared yet, and removes them.
func (f *feed) drain() []event {
	f.mu.Lock()
	defer f.mu.Unlock()
	events := f.events
	f.events = nil
	return events
}

// compare describes how the event differs from the journal's change of the same sequence; "" if it
// does not.
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
