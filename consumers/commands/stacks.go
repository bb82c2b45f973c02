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
	"github.com/livegraph/livegraph/internal/platform/outage"
	graphstore "github.com/livegraph/livegraph/storage/postgres/graph"
	"github.com/livegraph/livegraph/storage/redis"
)

// Limits of the cache of undo stacks.
const (
	// maxStackEntries is the maximum number of entries in memory, for all workspaces together. An
	// entry uses up to 100 bytes. Each stack counts as stackOverhead entries more than it has.
	maxStackEntries = 400_000
	stackOverhead   = 4
	// Limits of the updates queued for Redis.
	maxQueuedStacks     = 256 // groups
	maxQueuedStackBytes = 16 << 20
	stacksTimeout       = 500 * time.Millisecond
	// After a failed read Redis is not read for this time, so that not every group waits for it.
	stacksRetryDelay = 2 * time.Second
)

// stackCache caches the undo stacks of workspaces: in memory for the workspaces whose commands
// this process decides, and in Redis for the process that decides them next. Each entry has the
// sequence at which it was valid. Postgres is the source of truth: stacks of another sequence
// are not used, and missing ones are read from Postgres.
type stackCache struct {
	redis   *redis.DB
	logger  *slog.Logger
	metrics *metrics
	limit   int // maximum number of entries in memory

	mu         sync.Mutex
	workspaces map[uuid.UUID]*workspaceStacks
	lru        *list.List // of *actorStacks, most recently used first
	entries    int        // in workspaces
	failedAt   time.Time  // last failed read from Redis

	queue       chan redis.StackUpdate
	queuedBytes atomic.Int64
	once        sync.Once
}

// workspaceStacks contains the stacks of a workspace in memory.
type workspaceStacks struct {
	head   graph.Sequence
	actors map[uuid.UUID]*list.Element
}

type actorStacks struct {
	workspace, actor uuid.UUID
	stacks           graph.Stacks
}

func (a *actorStacks) entries() int {
	return stackOverhead + len(a.stacks.Undoable) + len(a.stacks.Redoable)
}

func newStackCache(db *redis.DB, logger *slog.Logger, m *metrics) *stackCache {
	return &stackCache{
		redis: db, logger: logger, metrics: m, limit: maxStackEntries,
		workspaces: map[uuid.UUID]*workspaceStacks{}, lru: list.New(), queue: make(chan redis.StackUpdate, maxQueuedStacks),
	}
}

// load sets, for each workspace of a group, the stacks of its actors that are cached.
func (s *stackCache) load(ctx context.Context, workspaces []graphstore.Needs) {
	missing, skipRedis := s.loadFromMemory(workspaces)
	if len(missing) == 0 || skipRedis {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stacksTimeout)
	defer cancel()
	loaded, err := s.redis.LoadStacks(ctx, missing)
	if err != nil {
		s.mu.Lock()
		s.failedAt = time.Now()
		s.mu.Unlock()
		s.logger.Warn("undo stacks cannot be read from Redis; Postgres has them", "error", err)
		return
	}
	for i := range workspaces {
		w := &workspaces[i]
		if one, ok := loaded[w.Workspace]; ok && w.Stacks == nil {
			w.Stacks = decodeStacks(one)
		}
	}
}

// loadFromMemory sets the stacks of the workspaces that are in memory and returns the actors of
// the others. skipRedis is true for stacksRetryDelay after a failed read from Redis.
func (s *stackCache) loadFromMemory(workspaces []graphstore.Needs) (missing map[uuid.UUID][]uuid.UUID, skipRedis bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	missing = map[uuid.UUID][]uuid.UUID{}
	for i := range workspaces {
		w := &workspaces[i]
		known, ok := s.workspaces[w.Workspace]
		if !ok {
			missing[w.Workspace] = w.Actors
			continue
		}
		w.Stacks = &graphstore.RememberedStacks{Head: known.head, Actors: make(map[uuid.UUID]graph.Stacks, len(w.Actors))}
		for _, actor := range w.Actors {
			if element, ok := known.actors[actor]; ok {
				s.lru.MoveToFront(element)
				w.Stacks.Actors[actor] = element.Value.(*actorStacks).stacks
			}
		}
	}
	return missing, time.Since(s.failedAt) < stacksRetryDelay
}

func decodeStacks(stored redis.Stacks) *graphstore.RememberedStacks {
	decoded := &graphstore.RememberedStacks{Head: graph.Sequence(stored.Head), Actors: map[uuid.UUID]graph.Stacks{}}
	for actor, encoded := range stored.Actors {
		if stack, err := decodeStack(encoded); err == nil {
			decoded.Actors[actor] = stack
		}
	}
	return decoded
}

// save caches the stacks of a workspace after a group. used contains the stacks that load had
// set for the group.
func (s *stackCache) save(workspace uuid.UUID, state *graphstore.State, used *graphstore.RememberedStacks) {
	now, changed := state.Stacks()
	base := state.StacksBase()
	if used != nil && used.Head == base {
		s.metrics.stacksFound.Inc()
	} else {
		s.metrics.stacksRead.Inc()
	}
	s.saveInMemory(workspace, base, now, changed)
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

// saveInMemory updates the stacks of a workspace in memory from the sequence base to now. It
// drops them if they are of another sequence.
func (s *stackCache) saveInMemory(
	workspace uuid.UUID, base graph.Sequence, now *graphstore.RememberedStacks, changed []uuid.UUID,
) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.workspaces[workspace]
	if known != nil && known.head != base {
		for actor := range known.actors {
			s.drop(known, actor)
		}
	}
	if known == nil {
		known = &workspaceStacks{actors: map[uuid.UUID]*list.Element{}}
		s.workspaces[workspace] = known
	}
	known.head = now.Head
	for _, actor := range changed { // outdated, even if now does not contain them
		s.drop(known, actor)
	}
	for actor, changedStacks := range now.Actors {
		s.drop(known, actor)
		a := &actorStacks{workspace: workspace, actor: actor, stacks: changedStacks}
		known.actors[actor] = s.lru.PushFront(a)
		s.entries += a.entries()
	}
	for s.entries > s.limit {
		oldest := s.lru.Back().Value.(*actorStacks)
		owner := s.workspaces[oldest.workspace]
		if s.drop(owner, oldest.actor); len(owner.actors) == 0 {
			delete(s.workspaces, oldest.workspace)
		}
	}
}

// drop removes the stacks of an actor if they are in memory.
func (s *stackCache) drop(known *workspaceStacks, actor uuid.UUID) {
	if element, ok := known.actors[actor]; ok {
		s.entries -= s.lru.Remove(element).(*actorStacks).entries()
		delete(known.actors, actor)
	}
}

// enqueue queues an update for Redis. It drops the update if the queue is full: the next update
// then replaces the outdated stacks in Redis, because their sequence differs.
func (s *stackCache) enqueue(update redis.StackUpdate) {
	size := sizeOf(update)
	if s.queuedBytes.Add(size) > maxQueuedStackBytes {
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

// run writes queued updates to Redis until close.
func (s *stackCache) run(ctx context.Context) {
	outages := outage.Log{
		Failed:    "undo stacks cannot be kept in Redis; Postgres has them",
		Recovered: "undo stacks are kept in Redis again",
	}
	for update := range s.queue {
		updates := []redis.StackUpdate{update}
		for more := true; more; { // one round trip for all queued updates
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
		for _, sent := range updates {
			s.queuedBytes.Add(-sizeOf(sent))
		}
		outages.Note(ctx, s.logger, err)
	}
}

// close makes run return when the queue is empty.
func (s *stackCache) close() { s.once.Do(func() { close(s.queue) }) }

// stackFormat is the first byte of encoded stacks.
const stackFormat = 2

var errStack = errors.New("not an undo stack of this version")

// encodeStack encodes the stacks of an actor, at most graph.StackDepth entries each: the format
// byte, the newest command, the sequences from which the two lists are complete, and each list
// with a length prefix.
func encodeStack(stacks graph.Stacks) []byte {
	top := stacks
	if len(stacks.Undoable) > graph.StackDepth || len(stacks.Redoable) > graph.StackDepth {
		top = stacks.Top(graph.StackDepth)
	}
	encoded := []byte{stackFormat}
	for _, n := range []graph.Sequence{top.Newest, top.UndoableFrom, top.RedoableFrom} {
		encoded = binary.AppendUvarint(encoded, uint64(n))
	}
	return appendEntries(appendEntries(encoded, top.Undoable), top.Redoable)
}

// appendEntries appends the number of entries and, for each entry, its sequence, the sequence
// that cancelled it, its command ID, its actor and its type.
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
	for _, to := range []*graph.Sequence{&stacks.Newest, &stacks.UndoableFrom, &stacks.RedoableFrom} {
		value, n := binary.Uvarint(rest)
		if n <= 0 {
			return graph.Stacks{}, errStack
		}
		*to, rest = graph.Sequence(value), rest[n:]
	}
	var ok bool
	if stacks.Undoable, rest, ok = decodeEntries(rest); !ok {
		return graph.Stacks{}, errStack
	}
	if stacks.Redoable, rest, ok = decodeEntries(rest); !ok || len(rest) > 0 {
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
