package commands

import (
	"container/list"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// How outcomes are looked up for those who wait.
const (
	// lookEvery is how often it is found out who is due.
	lookEvery = 25 * time.Millisecond
	// lookAgain is when somebody is due to whom no reply came: it may be lost.
	lookAgain = time.Second
	// lookAtOnce is how many are looked up by one query.
	lookAtOnce  = 1000
	lookTimeout = 5 * time.Second
	// maxWaiting bounds those who wait in one process.
	maxWaiting = 20_000
)

// replies are where outcomes come from at once, if nothing is lost.
type replies interface {
	// Address is where this process is reached.
	Address() string
	Connected() bool
	// Await returns the reply to an id; an empty one means to look where outcomes are
	// kept.
	Await(id uuid.UUID) (heard <-chan []byte, stop func())
}

// outcomeStore keeps outcomes, by their commands.
type outcomeStore interface {
	CommandOutcomes(ctx context.Context, refs []graphstore.CommandRef) (map[graphstore.CommandRef][]byte, error)
}

// Waiter waits for the outcomes of commands: by the replies, and, because a reply may
// be lost, by looking into the store, for all who are due at once: for each after a
// second, while no replies come at short intervals. Who is due is found without looking
// at the others, however many wait.
type Waiter struct {
	replies  replies
	outcomes outcomeStore
	log      *slog.Logger

	mu      sync.Mutex
	waiting list.List     // of *wait, in the order of when they are due
	told    []*wait       // those to look for now
	wake    chan struct{} // somebody waits and nobody did, or is told to look

	heard, looked, overdue atomic.Int64
}

// NewWaiter creates a Waiter. Run must run while something is waited for.
func NewWaiter(r replies, outcomes outcomeStore, log *slog.Logger) *Waiter {
	return &Waiter{replies: r, outcomes: outcomes, log: log, wake: make(chan struct{}, 1)}
}

// wait is one who waits for an outcome.
type wait struct {
	waiter *Waiter
	ref    graphstore.CommandRef
	heard  <-chan []byte
	stop   func()
	found  chan []byte // at most one

	place *list.Element // under the Waiter's lock: in waiting; nil: it has ended
	due   time.Time     // likewise: when to look
}

func errCrowded() error {
	return fault.New(fault.Unavailable, "Too many commands are waited for").After(time.Second)
}

// room refuses, as Unavailable, when no more may wait.
func (w *Waiter) room() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.Len() >= maxWaiting {
		return errCrowded()
	}
	return nil
}

// begin begins to wait; it comes before the command is on its way, so that no reply
// is missed. The caller ends it.
func (w *Waiter) begin(ref graphstore.CommandRef) (*wait, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.Len() >= maxWaiting {
		return nil, errCrowded()
	}
	one := &wait{waiter: w, ref: ref, found: make(chan []byte, 1), due: time.Now().Add(lookAgain)}
	one.heard, one.stop = w.replies.Await(ref.ID)
	one.place = w.waiting.PushBack(one) // nobody is due later
	if w.waiting.Len() == 1 {
		w.notify()
	}
	return one, nil
}

// end ends the wait. To end it again does nothing.
func (o *wait) end() {
	o.stop()
	o.waiter.mu.Lock()
	defer o.waiter.mu.Unlock()
	if o.place != nil {
		o.waiter.waiting.Remove(o.place)
		o.place = nil
	}
}

// notify has Run look who is due. It never blocks.
func (w *Waiter) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// outcome returns the outcome as it was encoded, nil if none came in time.
func (o *wait) outcome(ctx context.Context, waitTimeout time.Duration) ([]byte, error) {
	limit := time.NewTimer(waitTimeout)
	defer limit.Stop()
	for {
		select {
		case encoded := <-o.heard:
			if len(encoded) > 0 {
				o.waiter.heard.Add(1)
				return encoded, nil
			}
			o.lookNow()
		case encoded := <-o.found:
			o.waiter.looked.Add(1)
			return encoded, nil
		case <-limit.C:
			o.waiter.overdue.Add(1)
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (o *wait) lookNow() {
	o.waiter.mu.Lock()
	o.waiter.told = append(o.waiter.told, o)
	o.waiter.mu.Unlock()
	o.waiter.notify()
}

// Run looks outcomes up for those who are due, until ctx is done. While nobody waits
// it does nothing.
func (w *Waiter) Run(ctx context.Context) error {
	failing := false
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		}
		for w.count() > 0 {
			if err := w.look(ctx); (err != nil) != failing {
				if failing = err != nil; failing && ctx.Err() == nil {
					w.log.Warn("outcomes of commands cannot be looked up", "error", err)
				}
			}
			if !w.rest(ctx) {
				return ctx.Err()
			}
		}
	}
}

// rest waits until it is time to look again.
func (w *Waiter) rest(ctx context.Context) bool {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-w.wake:
	}
	return true
}

// look looks outcomes up for those who are due and hands out what is there.
func (w *Waiter) look(ctx context.Context) error {
	due := w.dueNow()
	for len(due) > 0 {
		part := due[:min(len(due), lookAtOnce)]
		due = due[len(part):]
		refs := make([]graphstore.CommandRef, len(part))
		for i, o := range part {
			refs[i] = o.ref
		}
		limited, cancel := context.WithTimeout(ctx, lookTimeout)
		outcomes, err := w.outcomes.CommandOutcomes(limited, refs)
		cancel()
		if err != nil {
			return err
		}
		for _, o := range part {
			if encoded, ok := outcomes[o.ref]; ok {
				select {
				case o.found <- encoded:
				default:
				}
			}
		}
	}
	return nil
}

// dueNow returns those to look for, and notes when they are due again.
func (w *Waiter) dueNow() (due []*wait) {
	now, connected := time.Now(), w.replies.Connected()
	w.mu.Lock()
	defer w.mu.Unlock()
	take := func(o *wait) {
		o.due = now.Add(lookAgain)
		w.waiting.MoveToBack(o.place)
		due = append(due, o)
	}
	for _, o := range w.told {
		if o.place != nil {
			take(o)
		}
	}
	w.told = nil
	for left := w.waiting.Len() - len(due); left > 0; left-- {
		o := w.waiting.Front().Value.(*wait)
		if connected && now.Before(o.due) {
			break
		}
		take(o)
	}
	return due
}
