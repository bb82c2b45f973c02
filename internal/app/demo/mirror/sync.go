package mirror

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

const (
	// readAgain is how long what is known is believed: others may have changed it.
	readAgain = 5 * time.Minute
	// patience is how many times in a row a refusal has the graph read at once. What
	// is refused for longer is not cured by reading, and then that waits a minute.
	patience  = 5
	readLater = time.Minute
	// burst and refill are the budget of commands: a large picture is drawn at once,
	// but one that never rests does not fill the journal.
	burst  = 4000
	refill = 10 // a second
)

// server is the part of the interface that a mirror uses.
type server interface {
	EachNode(ctx context.Context, f client.Filter, visit func(client.Node) error) error
	EachEdge(ctx context.Context, f client.Filter, visit func(client.Edge) error) error
	Batch(ctx context.Context, commands []client.Command, atomic bool) (client.BatchAnswer, error)
}

// Mirror keeps an owner's part of the graph equal to a picture. It is used by one
// goroutine.
type Mirror struct {
	server server
	known  *Known
	read   time.Time // zero: what is known may be wrong
	failed int       // times in a row that something was refused
	budget budget
}

// New creates a mirror for an owner: whoever uses the same name continues its work.
func New(s *client.Client, owner string) *Mirror { return newMirror(s, owner) }

func newMirror(s server, owner string) *Mirror {
	return &Mirror{server: s, known: NewKnown(owner), budget: budget{most: burst, perSecond: refill, left: burst}}
}

// Report is what came of one Sync.
type Report struct {
	Nodes, Edges int // that stand
	Applied      int // commands
	Refused      int // commands; they are looked at again the next time
	Left         int // commands that the budget left for the next time
	Reread       bool
}

// Known is what is there after the last Sync.
func (m *Mirror) Known() *Known { return m.known }

// Sync makes the graph as the picture is. What was done is done also when it
// fails; the next Sync goes on from there.
func (m *Mirror) Sync(ctx context.Context, p Picture) (r Report, err error) {
	defer func() { r.Nodes, r.Edges = m.known.Counts() }()
	now := time.Now()
	if m.read.IsZero() || now.Sub(m.read) > readAgain {
		if err := m.load(ctx); err != nil {
			return r, fmt.Errorf("reading the graph: %w", err)
		}
		m.read, r.Reread = now, true
	}
	steps := Diff(p, m.known)
	granted := m.budget.take(len(steps), now)
	r.Left = len(steps) - granted
	steps = steps[:granted]
	for len(steps) > 0 {
		n := min(len(steps), client.LargestBatch)
		applied, err := m.apply(ctx, steps[:n])
		r.Applied += applied
		r.Refused += n - applied
		if err != nil {
			m.read = time.Time{} // it may have been done all the same
			return r, fmt.Errorf("writing the graph: %w", err)
		}
		steps = steps[n:]
	}
	m.learnFailure(r.Refused > 0, now)
	return r, nil
}

// learnFailure has the graph read again after a refusal: it is not as it was known.
func (m *Mirror) learnFailure(refused bool, now time.Time) {
	if !refused {
		m.failed = 0
		return
	}
	if m.failed++; m.failed <= patience {
		m.read = time.Time{}
	} else if soon := now.Add(readLater - readAgain); soon.Before(m.read) {
		m.read = soon
	}
}

// load reads what there is of the owner's.
func (m *Mirror) load(ctx context.Context) error {
	fresh := NewKnown(m.known.owner)
	fresh.spent = m.known.spent
	own := client.Filter{Properties: map[string]string{ManagedBy: fresh.owner}}
	if err := m.server.EachNode(ctx, own, func(n client.Node) error { fresh.AddNode(n); return nil }); err != nil {
		return err
	}
	if err := m.server.EachEdge(ctx, own, func(e client.Edge) error { fresh.AddEdge(e); return nil }); err != nil {
		return err
	}
	m.known = fresh
	return nil
}

// apply carries steps out: all in one change, and if one of them is refused each
// by itself, so that the others are done.
func (m *Mirror) apply(ctx context.Context, steps []Step) (applied int, err error) {
	commands := make([]client.Command, len(steps))
	for i, s := range steps {
		commands[i] = s.Command
	}
	_, err = m.server.Batch(ctx, commands, true)
	switch {
	case err == nil:
		for _, s := range steps {
			s.learn(m.known)
		}
		return len(steps), nil
	case !refused(err):
		return 0, err
	}
	answer, err := m.server.Batch(ctx, commands, false)
	if err != nil {
		return 0, err
	}
	for i, s := range steps {
		if e := answer.Results[i].Err; e == nil {
			s.learn(m.known)
			applied++
		} else {
			m.learnRefusal(s, e)
		}
	}
	return applied, nil
}

// refused says that a command was refused for what stands in the graph, which its
// neighbours in the batch have nothing to do with.
func refused(err error) bool {
	return fault.Is(err, fault.NotFound) || fault.Is(err, fault.Conflict) || fault.Is(err, fault.Invalid)
}

// learnRefusal finds another id for what cannot be made under its own. Whether it
// stands already, made by another with the same picture, the next reading shows.
func (m *Mirror) learnRefusal(s Step, err error) {
	var fe *fault.Error
	if !errors.As(err, &fe) {
		return
	}
	taken := fe.Kind == fault.Conflict && fe.Details["reason"] == "already_exists"
	gone := fe.Kind == fault.NotFound && s.Command.Type == client.UpdateNode // somebody deleted it
	if taken || gone {
		m.known.spend(s.what, uuid.NewString())
	}
}

// budget is a token bucket.
type budget struct {
	most, perSecond, left float64
	at                    time.Time
}

// take returns how many of n may be spent now.
func (b *budget) take(n int, now time.Time) int {
	if !b.at.IsZero() {
		b.left = min(b.most, b.left+now.Sub(b.at).Seconds()*b.perSecond)
	}
	b.at = now
	granted := min(n, int(b.left))
	b.left -= float64(granted)
	return granted
}
