package promql

import (
	"context"
	"sync"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/budget"
)

const (
	// concurrentQueries is the maximum number of queries that are evaluated at the same time. Others wait.
	concurrentQueries = 8
	// workspaceQueries is the maximum number of these queries of one workspace, so that others do not wait
	// for all of its queries.
	workspaceQueries = concurrentQueries / 2
)

// places limits the queries that are evaluated at the same time. It is safe for concurrent use.
type places struct {
	all *budget.Budget

	mu         sync.Mutex
	workspaces map[uuid.UUID]*workspacePlaces
}

// workspacePlaces limits the queries of one workspace. It exists while there are such queries.
type workspacePlaces struct {
	places *budget.Budget
	users  int // queries that are evaluated or wait
}

func newPlaces() *places {
	return &places{all: budget.New(concurrentQueries), workspaces: map[uuid.UUID]*workspacePlaces{}}
}

// acquire waits for a place. It returns the error of ctx if ctx is done. The caller must call release once.
func (p *places) acquire(ctx context.Context, workspace uuid.UUID) (release func(), err error) {
	p.mu.Lock()
	w := p.workspaces[workspace]
	if w == nil {
		w = &workspacePlaces{places: budget.New(workspaceQueries)}
		p.workspaces[workspace] = w
	}
	w.users++
	p.mu.Unlock()
	own, err := w.places.Acquire(ctx, 1)
	if err != nil {
		p.leave(workspace, w)
		return nil, err
	}
	place, err := p.all.Acquire(ctx, 1)
	if err != nil {
		own.Release()
		p.leave(workspace, w)
		return nil, err
	}
	return func() {
		place.Release()
		own.Release()
		p.leave(workspace, w)
	}, nil
}

func (p *places) leave(workspace uuid.UUID, w *workspacePlaces) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w.users--; w.users == 0 {
		delete(p.workspaces, workspace)
	}
}
