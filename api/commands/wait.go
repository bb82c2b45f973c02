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
	"github.com/livegraph/livegraph/internal/platform/outage"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
)

// How outcomes are looked up.
const (
	// pollInterval is how often due waits are looked up.
	pollInterval = 25 * time.Millisecond
	// lookupDelay is how long a wait receives no reply until its outcome is looked up: the
	// reply may be lost.
	lookupDelay = time.Second
	// maxLookupBatch is how many outcomes one query looks up.
	maxLookupBatch = 1000
	lookupTimeout  = 5 * time.Second
	// maxWaiting bounds the concurrent waits of a process.
	maxWaiting = 20_000
)

// replies receives outcomes from the consumer. Replies may be lost.
type replies interface {
	// Address returns the address to which replies for this process are sent.
	Address() string
	Connected() bool
	// Await returns a channel with the reply to an id. An empty reply means that the outcome
	// is in the store.
	Await(id uuid.UUID) (reply <-chan []byte, stop func())
}

// outcomeStore reads the outcomes of commands.
type outcomeStore interface {
	CommandOutcomes(ctx context.Context, refs []graphstore.CommandRef) (map[graphstore.CommandRef][]byte, error)
}

// Waiter waits for the outcomes of commands. It receives them as replies. Because a reply may
// be lost, it also looks them up in the store, many in one query: each wait after
// lookupDelay, and every pollInterval while replies are not connected. Finding the due waits
// does not depend on the number of the others.
type Waiter struct {
	replies  replies
	outcomes outcomeStore
	log      *slog.Logger

	mu        sync.Mutex
	waiting   list.List     // of *wait, ordered by due
	requested []*wait       // to be looked up now
	wake      chan struct{} // has an element after the first wait began, or a look-up was requested

	repliesReceived, lookups, timeouts atomic.Int64
}

// NewWaiter creates a Waiter. Run must be running while it is used.
func NewWaiter(r replies, outcomes outcomeStore, log *slog.Logger) *Waiter {
	return &Waiter{replies: r, outcomes: outcomes, log: log, wake: make(chan struct{}, 1)}
}

// wait is a request that waits for an outcome.
type wait struct {
	waiter *Waiter
	ref    graphstore.CommandRef
	reply  <-chan []byte
	stop   func()
	found  chan []byte // at most one

	element *list.Element // in waiting, guarded by the Waiter's lock; nil: the wait has ended
	due     time.Time     // when to look up, guarded by the Waiter's lock
}

func errTooManyWaiting() error {
	return fault.New(fault.Unavailable, "Too many commands are waited for").After(time.Second)
}

// checkCapacity returns an Unavailable error when no further wait may begin.
func (w *Waiter) checkCapacity() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.Len() >= maxWaiting {
		return errTooManyWaiting()
	}
	return nil
}

// begin begins a wait. It must be called before the command is produced, so that no reply is
// missed. The caller must end the wait.
func (w *Waiter) begin(ref graphstore.CommandRef) (*wait, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.waiting.Len() >= maxWaiting {
		return nil, errTooManyWaiting()
	}
	started := &wait{waiter: w, ref: ref, found: make(chan []byte, 1), due: time.Now().Add(lookupDelay)}
	started.reply, started.stop = w.replies.Await(ref.ID)
	started.element = w.waiting.PushBack(started) // no other wait is due later
	if w.waiting.Len() == 1 {
		w.notify()
	}
	return started, nil
}

// end ends the wait. Further calls do nothing.
func (o *wait) end() {
	o.stop()
	o.waiter.mu.Lock()
	defer o.waiter.mu.Unlock()
	if o.element != nil {
		o.waiter.waiting.Remove(o.element)
		o.element = nil
	}
}

// notify wakes Run. It never blocks.
func (w *Waiter) notify() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// outcome returns the encoded outcome, nil if it is not known in time.
func (o *wait) outcome(ctx context.Context, waitTimeout time.Duration) ([]byte, error) {
	limit := time.NewTimer(waitTimeout)
	defer limit.Stop()
	for {
		select {
		case encoded := <-o.reply:
			if len(encoded) > 0 {
				o.waiter.repliesReceived.Add(1)
				return encoded, nil
			}
			o.requestLookup()
		case encoded := <-o.found:
			o.waiter.lookups.Add(1)
			return encoded, nil
		case <-limit.C:
			o.waiter.timeouts.Add(1)
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func (o *wait) requestLookup() {
	o.waiter.mu.Lock()
	o.waiter.requested = append(o.waiter.requested, o)
	o.waiter.mu.Unlock()
	o.waiter.notify()
}

// Run looks up the outcomes of due waits until ctx is done. It is idle while there are no waits.
func (w *Waiter) Run(ctx context.Context) error {
	outages := outage.Log{
		Failed: "outcomes of commands cannot be looked up", Recovered: "outcomes of commands are looked up again",
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
		}
		for w.count() > 0 {
			outages.Note(ctx, w.log, w.lookUpDue(ctx))
			if !w.waitForNextPoll(ctx) {
				return ctx.Err()
			}
		}
	}
}

// waitForNextPoll waits for pollInterval or a notification. It returns false when ctx is done.
func (w *Waiter) waitForNextPoll(ctx context.Context) bool {
	timer := time.NewTimer(pollInterval)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
	case <-w.wake:
	}
	return true
}

// lookUpDue looks up the outcomes of due waits and delivers those that exist.
func (w *Waiter) lookUpDue(ctx context.Context) error {
	due := w.takeDue()
	for len(due) > 0 {
		batch := due[:min(len(due), maxLookupBatch)]
		due = due[len(batch):]
		refs := make([]graphstore.CommandRef, len(batch))
		for i, o := range batch {
			refs[i] = o.ref
		}
		limited, cancel := context.WithTimeout(ctx, lookupTimeout)
		outcomes, err := w.outcomes.CommandOutcomes(limited, refs)
		cancel()
		if err != nil {
			return err
		}
		for _, o := range batch {
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

// takeDue returns the waits to look up and sets when they are due again.
func (w *Waiter) takeDue() (due []*wait) {
	now, connected := time.Now(), w.replies.Connected()
	w.mu.Lock()
	defer w.mu.Unlock()
	add := func(o *wait) {
		o.due = now.Add(lookupDelay)
		w.waiting.MoveToBack(o.element)
		due = append(due, o)
	}
	for _, o := range w.requested {
		if o.element != nil {
			add(o)
		}
	}
	w.requested = nil
	for left := w.waiting.Len() - len(due); left > 0; left-- {
		o := w.waiting.Front().Value.(*wait)
		if connected && now.Before(o.due) {
			break
		}
		add(o)
	}
	return due
}
