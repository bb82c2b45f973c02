package replica

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// headTimeout is the timeout of reading sequences. The reads that wait for them are then answered by the primary.
const headTimeout = time.Second

var errStopped = errors.New("the sequences are not read any more")

// headReader reads the sequences of the newest changes. Calls that wait at the same time share a statement.
type headReader struct {
	mu      sync.Mutex
	next    *headBatch // of the calls since the last statement began; nil: none
	stopped bool
	wake    chan struct{} // has an element if next is not nil
}

// headBatch is what one statement reads. result and err are valid when done is closed.
type headBatch struct {
	workspaces map[uuid.UUID]struct{}
	done       chan struct{}
	result     map[uuid.UUID]mark
	err        error
}

func newHeadReader() *headReader { return &headReader{wake: make(chan struct{}, 1)} }

// read returns the sequence of a workspace, by a statement that begins after the call.
func (h *headReader) read(ctx context.Context, workspace uuid.UUID) (mark, error) {
	b, err := h.join(workspace)
	if err != nil {
		return mark{}, err
	}
	select {
	case <-b.done:
	case <-ctx.Done():
		return mark{}, ctx.Err()
	}
	m, ok := b.result[workspace]
	if b.err == nil && !ok {
		return mark{}, fmt.Errorf("the sequence of workspace %s was not read", workspace)
	}
	return m, b.err
}

// join adds a workspace to the next statement.
func (h *headReader) join(workspace uuid.UUID) (*headBatch, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return nil, errStopped
	}
	if h.next == nil {
		h.next = &headBatch{workspaces: map[uuid.UUID]struct{}{}, done: make(chan struct{})}
		h.wake <- struct{}{}
	}
	h.next.workspaces[workspace] = struct{}{}
	return h.next, nil
}

// take returns the calls that wait.
func (h *headReader) take() *headBatch {
	h.mu.Lock()
	defer h.mu.Unlock()
	b := h.next
	h.next = nil
	return b
}

// run reads the sequences that are waited for until ctx is done.
func (h *headReader) run(ctx context.Context, primary *postgres.DB) {
	for {
		select {
		case <-h.wake:
			b := h.take()
			b.result, b.err = readHeads(ctx, primary, b.workspaces)
			close(b.done)
		case <-ctx.Done():
			h.stop()
			return
		}
	}
}

// stop ends the waiting calls, and refuses further ones.
func (h *headReader) stop() {
	h.mu.Lock()
	h.stopped = true
	h.mu.Unlock()
	if b := h.take(); b != nil {
		b.err = errStopped
		close(b.done)
	}
}

func readHeads(
	ctx context.Context, primary *postgres.DB, workspaces map[uuid.UUID]struct{},
) (map[uuid.UUID]mark, error) {
	ctx, cancel := context.WithTimeout(ctx, headTimeout)
	defer cancel()
	ids := make(postgres.UUIDs, 0, len(workspaces))
	for id := range workspaces {
		ids = append(ids, postgres.UUID(id))
	}
	rows, err := primary.Pool().Query(ctx, `SELECT t.id, COALESCE(h.sequence, 0), `+primaryPosition+`
		FROM unnest($1::uuid[]) AS t (id) LEFT JOIN graph_heads h ON h.workspace_id = t.id`, ids)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the sequences of workspaces: %w", err))
	}
	heads := make(map[uuid.UUID]mark, len(workspaces))
	var (
		id uuid.UUID
		m  mark
	)
	_, err = pgx.ForEachRow(rows, []any{&id, &m.sequence, &m.timeline, &m.lsn}, func() error {
		m.position = m.endOfRecord()
		heads[id] = m
		return nil
	})
	return heads, postgres.Classify(err)
}
