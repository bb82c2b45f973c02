package commands

import (
	"container/list"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/graph"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/redis"
)

// Bounds of what is remembered of undo stacks, of one workspace or of many.
const (
	// An entry takes up to 100 bytes; a stack counts as some entries more than it has.
	stacksRemembered = 400_000
	stackOverhead    = 4
	// What waits to be kept in Redis.
	stacksQueued      = 256 // groups
	stacksQueuedBytes = 16 << 20
	stacksTimeout     = 500 * time.Millisecond
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
	limit   int // entries in memory

	mu      sync.Mutex
	known   map[uuid.UUID]*workspaceStacks
	used    *list.List // of *actorStacks, the one used last in front
	entries int        // in known
	failed  time.Time  // when Redis last failed

	queue       chan redis.StackUpdate
	queuedBytes atomic.Int64
	once        sync.Once
}

// workspaceStacks are the stacks of a workspace in memory.
type workspaceStacks struct {
	head   graph.Sequence
	actors map[uuid.UUID]*list.Element
}

type actorStacks struct {
	workspace, actor uuid.UUID
	stacks           graph.Stacks
}

func (a *actorStacks) entries() int {
	return stackOverhead + len(a.stacks.Standing) + len(a.stacks.Cancelled)
}

func newStacks(db *redis.DB, logger *slog.Logger, m *metrics) *stacks {
	return &stacks{
		redis: db, logger: logger, metrics: m, limit: stacksRemembered,
		known: map[uuid.UUID]*workspaceStacks{}, used: list.New(), queue: make(chan redis.StackUpdate, stacksQueued),
	}
}

// prepare sets, for each workspace of a group, the stacks of its actors, as far as they are
// remembered.
func (s *stacks) prepare(ctx context.Context, workspaces []graphstore.Needs) {
	wanted, rest := s.recall(workspaces)
	if len(wanted) == 0 || rest {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stacksTimeout)
	defer cancel()
	kept, err := s.redis.LoadStacks(ctx, wanted)
	if err != nil {
		s.mu.Lock()
		s.failed = time.Now()
		s.mu.Unlock()
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

// recall returns workspaces what is in memory, and returns the actors of the others. rest
// reports that Redis is to be left alone.
func (s *stacks) recall(workspaces []graphstore.Needs) (wanted map[uuid.UUID][]uuid.UUID, rest bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	wanted = map[uuid.UUID][]uuid.UUID{}
	for i := range workspaces {
		w := &workspaces[i]
		known, ok := s.known[w.Workspace]
		if !ok {
			wanted[w.Workspace] = w.Actors
			continue
		}
		w.Stacks = &graphstore.RememberedStacks{Head: known.head, Actors: make(map[uuid.UUID]graph.Stacks, len(w.Actors))}
		for _, actor := range w.Actors {
			if element, ok := known.actors[actor]; ok {
				s.used.MoveToFront(element)
				w.Stacks.Actors[actor] = element.Value.(*actorStacks).stacks
			}
		}
	}
	return wanted, time.Since(s.failed) < stacksPause
}

func decodeStacks(kept redis.Stacks) *graphstore.RememberedStacks {
	decoded := &graphstore.RememberedStacks{Head: graph.Sequence(kept.Head), Actors: map[uuid.UUID]graph.Stacks{}}
	for actor, encoded := range kept.Actors {
		if stack, err := decodeStack(encoded); err == nil {
			decoded.Actors[actor] = stack
		}
	}
	return decoded
}

// keep remembers the stacks of a workspace after a group. used is what the group was
// given.
func (s *stacks) keep(workspace uuid.UUID, state *graphstore.State, used *graphstore.RememberedStacks) {
	now, changed := state.Stacks()
	base := state.StacksBase()
	if used != nil && used.Head == base {
		s.metrics.stacksFound.Inc()
	} else {
		s.metrics.stacksRead.Inc()
	}
	s.remember(workspace, base, now, changed)
	if len(state.Recorded()) == 0 {
		return
	}
	update := redis.StackUpdate{
		Workspace: workspace, Base: int64(base), Head: int64(now.Head), Actors: map[uuid.UUID][]byte{},
	}
	for _, actor := range changed {
		update.Actors[actor] = nil
		if stack, ok := now.Actors[actor]; ok {
			update.Actors[actor] = encodeStack(stack)
		}
	}
	s.enqueue(update)
}

// remember brings what is in memory of a workspace from the sequence base to now.
func (s *stacks) remember(
	workspace uuid.UUID, base graph.Sequence, now *graphstore.RememberedStacks, changed []uuid.UUID,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known[workspace]
	if known != nil && known.head != base {
		for actor := range known.actors {
			s.forget(known, actor)
		}
	}
	if known == nil {
		known = &workspaceStacks{actors: map[uuid.UUID]*list.Element{}}
		s.known[workspace] = known
	}
	known.head = now.Head
	for _, actor := range changed { // those that nobody asked for are not as they were
		s.forget(known, actor)
	}
	for actor, one := range now.Actors {
		s.forget(known, actor)
		a := &actorStacks{workspace: workspace, actor: actor, stacks: one}
		known.actors[actor] = s.used.PushFront(a)
		s.entries += a.entries()
	}
	for s.entries > s.limit {
		oldest := s.used.Back().Value.(*actorStacks)
		of := s.known[oldest.workspace]
		if s.forget(of, oldest.actor); len(of.actors) == 0 {
			delete(s.known, oldest.workspace)
		}
	}
}

// forget drops the stacks of an actor, if they are in memory.
func (s *stacks) forget(known *workspaceStacks, actor uuid.UUID) {
	if element, ok := known.actors[actor]; ok {
		s.entries -= s.used.Remove(element).(*actorStacks).entries()
		delete(known.actors, actor)
	}
}

// enqueue has an update kept in Redis, unless too much waits for that already: the next
// update throws away what this one would have changed.
func (s *stacks) enqueue(update redis.StackUpdate) {
	size := sizeOf(update)
	if s.queuedBytes.Add(size) > stacksQueuedBytes {
		s.queuedBytes.Add(-size)
		return
	}
	select {
	case s.queue <- update:
	default:
		s.queuedBytes.Add(-size)
	}
}

func sizeOf(update redis.StackUpdate) (bytes int64) {
	for _, stack := range update.Actors {
		bytes += int64(len(stack)) + int64(len(uuid.UUID{}))
	}
	return bytes
}

// run keeps stacks in Redis until close.
func (s *stacks) run(ctx context.Context) {
	failing := false
	for update := range s.queue {
		updates := []redis.StackUpdate{update}
		for more := true; more; { // one round trip for what has gathered
			select {
			case next, open := <-s.queue:
				if more = open; open {
					updates = append(updates, next)
				}
			default:
				more = false
			}
		}
		limited, cancel := context.WithTimeout(ctx, stacksTimeout)
		err := s.redis.SaveStacks(limited, updates)
		cancel()
		for _, kept := range updates {
			s.queuedBytes.Add(-sizeOf(kept))
		}
		if (err != nil) != failing {
			if failing = err != nil; failing {
				s.logger.Warn("undo stacks cannot be kept in Redis; Postgres has them", "error", err)
			}
		}
	}
}

// close ends run when everything is kept.
func (s *stacks) close() { s.once.Do(func() { close(s.queue) }) }

// stackFormat is the first byte of encoded stacks.
const stackFormat = 2

var errStack = errors.New("not an undo stack of this version")

// encodeStack makes the stacks of an actor short, as deep as they are shown: the format,
// the newest command, from where on the two lists are complete, and each list, with its
// length before it.
func encodeStack(stacks graph.Stacks) []byte {
	top := stacks
	if len(stacks.Standing) > graph.StackDepth || len(stacks.Cancelled) > graph.StackDepth {
		top = stacks.Top(graph.StackDepth)
	}
	encoded := []byte{stackFormat}
	for _, n := range []graph.Sequence{top.Newest, top.StandingFrom, top.CancelledFrom} {
		encoded = binary.AppendUvarint(encoded, uint64(n))
	}
	return appendEntries(appendEntries(encoded, top.Standing), top.Cancelled)
}

// appendEntries writes for each entry its sequence, by what it was cancelled, its command,
// its actor and its type.
func appendEntries(encoded []byte, entries []graph.Entry) []byte {
	encoded = binary.AppendUvarint(encoded, uint64(len(entries)))
	for i := range entries {
		e := &entries[i]
		encoded = binary.AppendUvarint(encoded, uint64(e.Sequence))
		encoded = binary.AppendUvarint(encoded, uint64(e.CancelledBy))
		encoded = append(append(encoded, e.CommandID[:]...), e.Actor[:]...)
		encoded = append(append(encoded, byte(len(e.Type))), e.Type...)
	}
	return encoded
}

func decodeStack(encoded []byte) (stacks graph.Stacks, err error) {
	if len(encoded) == 0 || encoded[0] != stackFormat {
		return graph.Stacks{}, errStack
	}
	rest := encoded[1:]
	for _, to := range []*graph.Sequence{&stacks.Newest, &stacks.StandingFrom, &stacks.CancelledFrom} {
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			return graph.Stacks{}, errStack
		}
		*to, rest = graph.Sequence(value), rest[n:]
	}
	var ok bool
	if stacks.Standing, rest, ok = decodeEntries(rest); !ok {
		return graph.Stacks{}, errStack
	}
	if stacks.Cancelled, rest, ok = decodeEntries(rest); !ok || len(rest) > 0 {
		return graph.Stacks{}, errStack
	}
	return stacks, nil
}

func decodeEntries(raw []byte) (entries []graph.Entry, rest []byte, ok bool) {
	count, n := binary.Uvarint(raw)
	if n <= 0 || count > graph.StackDepth {
		return nil, nil, false
	}
	rest = raw[n:]
	for range count {
		var e graph.Entry
		if e, rest, ok = decodeEntry(rest); !ok {
			return nil, nil, false
		}
		entries = append(entries, e)
	}
	return entries, rest, true
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
