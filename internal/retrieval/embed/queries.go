package embed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/breaker"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// DefaultQueryTimeout is how long the vector of a query is waited for. Anyone who searches
// is better served without than late.
const DefaultQueryTimeout = 300 * time.Millisecond

// queryRetry is when it makes sense to ask again an embedder that does not answer.
const queryRetry = 2 * time.Second

// ErrOtherModel says that no embedder is known of the model that is asked for.
var ErrOtherModel = errors.New("no embedder of this model is configured")

// QueryOptions say who embeds queries.
type QueryOptions struct {
	// Embedder is of the configured model. It should not repeat what fails.
	Embedder Embedder
	// Other returns an embedder of another model, that of an index that was made before
	// it was changed, and false if there is none; nil: there never is. Queries closes it.
	Other func(Model) (Embedder, bool)
	// Timeout bounds a call; 0: DefaultQueryTimeout.
	Timeout time.Duration
}

// Queries embeds queries, which somebody waits for: each once, within a short time,
// and not at all while the embedder does not answer, except for one query at a time that
// tries. It is safe for concurrent use.
type Queries struct {
	options QueryOptions
	current guarded

	mu    sync.Mutex
	other *guarded // of the model that was asked for last, beside the configured one
}

// guarded is an embedder with what is known of how it answers.
type guarded struct {
	Embedder
	breaker breaker.Breaker
}

// NewQueries returns what embeds queries. The caller closes it, and the embedder of the
// configured model after it.
func NewQueries(o QueryOptions) *Queries {
	if o.Timeout <= 0 {
		o.Timeout = DefaultQueryTimeout
	}
	return &Queries{options: o, current: guarded{Embedder: o.Embedder}}
}

// Model returns the configured model.
func (q *Queries) Model() Model { return q.current.Model() }

// EmbedQuery returns the vector of a query in a model's space, nil if it has none.
// ErrOtherModel says that the model is neither the configured one nor known otherwise.
func (q *Queries) EmbedQuery(ctx context.Context, model Model, text string) (Vector, error) {
	e, err := q.of(model)
	if err != nil {
		return nil, err
	}
	if !e.breaker.Admits() {
		return nil, fault.New(fault.Unavailable, "the embedder does not answer").After(queryRetry)
	}
	limited, cancel := context.WithTimeout(ctx, q.options.Timeout)
	defer cancel()
	vectors, err := e.Embed(limited, []string{text})
	switch {
	case err == nil && len(vectors) == 1:
		e.breaker.Answered()
		return vectors[0], nil
	case err == nil:
		err = fault.New(fault.BadGateway, "the embedder answers with another number of vectors than it was asked for")
	case ctx.Err() != nil: // the caller's end says nothing of the embedder
		return nil, err
	case limited.Err() != nil && !fault.Is(err, fault.Timeout):
		err = fault.Wrap(err, fault.Timeout, "the embedder did not answer in time")
	}
	if fault.Is(err, fault.Invalid) { // it answers, and does not want this text
		e.breaker.Answered()
	} else {
		e.breaker.Failed()
	}
	return nil, err
}

// of returns the embedder of a model.
func (q *Queries) of(model Model) (*guarded, error) {
	if model == q.current.Model() {
		return &q.current, nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.other != nil && q.other.Model() == model {
		return q.other, nil
	}
	if q.options.Other == nil {
		return nil, ErrOtherModel
	}
	e, known := q.options.Other(model)
	if !known {
		return nil, ErrOtherModel
	}
	q.closeOther()
	q.other = &guarded{Embedder: e}
	return q.other, nil
}

// closeOther closes the other embedder. A call of it that is under way goes on.
func (q *Queries) closeOther() {
	if q.other != nil {
		q.other.Close()
	}
}

// Close lets go of the connections to the embedder of another model. The next query for that
// model asks for it again.
func (q *Queries) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closeOther()
	q.other = nil
}
