package commands

import (
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/redis"
)

// Bounds of what is remembered of undo stacks. A stack is 8 KiB at most.
const (
	stacksRemembered = 4096
	stacksQueued     = 256 // groups whose stacks wait to be kept in Redis
	stacksTimeout    = 500 * time.Millisecond
	// Redis is left alone for so long after it has failed, so that not every group
	// waits for it.
	stacksPause = 2 * time.Second
)

// stacks remembers the undo stacks of workspaces: in memory for those whose commands
// this process decides, and in Redis for who decides them next. All is stamped with
// the sequence that it is of. Postgres has the truth, and decides: stacks of another
// sequence are not used, and what is missing is read there.
type stacks struct {
	redis   *redis.DB
	logger  *slog.Logger
	metrics *metrics
	known   map[uuid.UUID]*postgres.GraphStacks // of the deciding goroutine alone
	count   int                                 // stacks in known
	failed  time.Time                           // when Redis last failed, likewise
	queue   chan []redis.StackUpdate
	once    sync.Once
}

func newStacks(db *redis.DB, logger *slog.Logger, m *metrics) *stacks {
	return &stacks{
		redis: db, logger: logger, metrics: m, known: map[uuid.UUID]*postgres.GraphStacks{},
		queue: make(chan []redis.StackUpdate, stacksQueued),
	}
}

// prepare gives each workspace of a group its stacks, as far as they are remembered.
func (s *stacks) prepare(ctx context.Context, workspaces []postgres.GraphNeeds) {
	wanted := map[uuid.UUID][]uuid.UUID{}
	for i := range workspaces {
		w := &workspaces[i]
		if known, ok := s.known[w.Workspace]; ok {
			w.Stacks = known
		} else {
			wanted[w.Workspace] = w.Actors
		}
	}
	if len(wanted) == 0 || time.Since(s.failed) < stacksPause {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stacksTimeout)
	defer cancel()
	kept, err := s.redis.LoadStacks(ctx, wanted)
	if err != nil {
		s.failed = time.Now()
		s.logger.Warn("undo stacks cannot be read from Redis; Postgres has them", "error", err)
		return
	}
	for i := range workspaces {
		w := &workspaces[i]
		if one, ok := kept[w.Workspace]; ok && w.Stacks == nil {
			w.Stacks = decodeStacks(one)
		}
	}
}

func decodeStacks(kept redis.Stacks) *postgres.GraphStacks {
	decoded := &postgres.GraphStacks{Head: graph.Sequence(kept.Head), Actors: map[uuid.UUID]graph.Stacks{}}
	for actor, encoded := range kept.Actors {
		if stack, err := decodeStack(encoded); err == nil {
			decoded.Actors[actor] = stack
		}
	}
	return decoded
}

// keep remembers the stacks of a workspace after a group. used is what the group was
// given.
func (s *stacks) keep(workspace uuid.UUID, state *postgres.GraphState, used *postgres.GraphStacks) {
	now, changed := state.Stacks()
	base := now.Head - graph.Sequence(len(state.Recorded()))
	if used != nil && used.Head == base {
		s.metrics.stacksFound.Inc()
	} else {
		s.metrics.stacksRead.Inc()
	}
	if old, ok := s.known[workspace]; ok {
		s.count -= len(old.Actors)
	}
	s.known[workspace] = now
	s.count += len(now.Actors)
	for other, old := range s.known { // any: maps give them in no order
		if s.count <= stacksRemembered || len(s.known) == 1 {
			break
		}
		if other != workspace {
			s.count -= len(old.Actors)
			delete(s.known, other)
		}
	}
	if len(state.Recorded()) == 0 {
		return
	}
	update := redis.StackUpdate{Workspace: workspace, Base: int64(base), Head: int64(now.Head), Actors: map[uuid.UUID][]byte{}}
	for _, actor := range changed {
		update.Actors[actor] = nil
		if stack, ok := now.Actors[actor]; ok {
			update.Actors[actor] = encodeStack(stack)
		}
	}
	select {
	case s.queue <- []redis.StackUpdate{update}:
	default: // the next update throws away what this one would have changed
	}
}

// run keeps stacks in Redis until close.
func (s *stacks) run(ctx context.Context) {
	failing := false
	for updates := range s.queue {
		for more := true; more; { // one round trip for what has gathered
			select {
			case next, open := <-s.queue:
				updates, more = append(updates, next...), open
			default:
				more = false
			}
		}
		limited, cancel := context.WithTimeout(ctx, stacksTimeout)
		err := s.redis.SaveStacks(limited, updates)
		cancel()
		if (err != nil) != failing {
			if failing = err != nil; failing {
				s.logger.Warn("undo stacks cannot be kept in Redis; Postgres has them", "error", err)
			}
		}
	}
}

// close ends run when everything is kept.
func (s *stacks) close() { s.once.Do(func() { close(s.queue) }) }

// stackFormat is the first byte of an encoded stack.
const stackFormat = 1

var errStack = errors.New("not an undo stack of this version")

// encodeStack makes a stack short: the format, and for each entry its sequence, by
// what it was cancelled, its command, its actor and its type.
func encodeStack(stack graph.Stacks) []byte {
	encoded := []byte{stackFormat}
	for i := range stack {
		e := &stack[i]
		encoded = binary.AppendUvarint(encoded, uint64(e.Sequence))
		encoded = binary.AppendUvarint(encoded, uint64(e.CancelledBy))
		encoded = append(append(encoded, e.CommandID[:]...), e.Actor[:]...)
		encoded = append(append(encoded, byte(len(e.Type))), e.Type...)
	}
	return encoded
}

func decodeStack(encoded []byte) (graph.Stacks, error) {
	if len(encoded) == 0 || encoded[0] != stackFormat {
		return nil, errStack
	}
	stack := graph.Stacks{}
	for rest := encoded[1:]; len(rest) > 0; {
		var e graph.Entry
		var ok bool
		if e, rest, ok = decodeEntry(rest); !ok || len(stack) == graph.StackDepth {
			return nil, errStack
		}
		stack = append(stack, e)
	}
	return stack, nil
}

func decodeEntry(raw []byte) (e graph.Entry, rest []byte, ok bool) {
	const ids = 2 * len(uuid.UUID{})
	sequence, n := binary.Uvarint(raw)
	if n <= 0 {
		return e, nil, false
	}
	cancelled, m := binary.Uvarint(raw[n:])
	if m <= 0 || len(raw) < n+m+ids+1 {
		return e, nil, false
	}
	raw = raw[n+m:]
	e.Sequence, e.CancelledBy = graph.Sequence(sequence), graph.Sequence(cancelled)
	copy(e.CommandID[:], raw)
	copy(e.Actor[:], raw[len(e.CommandID):])
	size := int(raw[ids])
	if raw = raw[ids+1:]; len(raw) < size {
		return e, nil, false
	}
	e.Type = graph.Type(raw[:size])
	return e, raw[size:], true
}
