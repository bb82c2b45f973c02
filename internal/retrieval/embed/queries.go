package embed

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/livegraph/livegraph/internal/platform/breaker"
	"github.com/livegraph/livegraph/internal/platform/fault"
)

// DefaultQueryTimeout is the timeout for the vector of a query. A search without a vector is
// better than a slow one.
const DefaultQueryTimeout = 300 * time.Millisecond

// textsTimeout is the timeout of EmbedTexts, which embeds some dozens of texts for a request that waits.
const textsTimeout = 2 * time.Second

// queryRetry is the time after which to retry if the embedder does not respond.
const queryRetry = 2 * time.Second

// ErrOtherModel is the error for a model for which there is no embedder.
var ErrOtherModel = errors.New("no embedder of this model is configured")

// QueryOptions are the options of [NewQueries].
type QueryOptions struct {
	// Embedder is the embedder of the configured model. It should not retry.
	Embedder Embedder
	// Texts is the embedder of EmbedTexts, with the same model. It should not retry. Nil: it is Embedder. The caller
	// closes it.
	Texts Embedder
	// Other returns an embedder of another model, that of an index that was built before
	// the configuration changed, and false if there is none; nil: there is never one.
	// Queries closes the embedder.
	Other func(Model) (Embedder, bool)
	// Timeout bounds a call of EmbedQuery; 0: DefaultQueryTimeout.
	Timeout time.Duration
}

// Queries embeds queries, and texts of the results, with low latency: without retries, with a short timeout, and with
// a circuit breaker, so that while the embedder does not respond only one query at a time
// tries it. It is safe for concurrent use.
type Queries struct {
	options QueryOptions
	current breakerEmbedder
	texts   breakerEmbedder // slow batches do not open the breaker of queries

	mu    sync.Mutex
	other *breakerEmbedder // of the last requested model that is not the configured one
}

// breakerEmbedder is an embedder with a circuit breaker.
type breakerEmbedder struct {
	Embedder
	breaker breaker.Breaker
}

// NewQueries creates a Queries. The caller must close it, and then the embedder of the
// configured model.
func NewQueries(o QueryOptions) *Queries {
	if o.Timeout <= 0 {
		o.Timeout = DefaultQueryTimeout
	}
	if o.Texts == nil {
		o.Texts = o.Embedder
	}
	return &Queries{
		options: o, current: breakerEmbedder{Embedder: o.Embedder}, texts: breakerEmbedder{Embedder: o.Texts},
	}
}

// Model returns the configured model.
func (q *Queries) Model() Model { return q.current.Model() }

// EmbedQuery returns the vector of a query in the space of a model, nil if it has none. It
// returns ErrOtherModel if there is no embedder of the model.
func (q *Queries) EmbedQuery(ctx context.Context, model Model, text string) (Vector, error) {
	e, err := q.embedderFor(model)
	if err != nil {
		return nil, err
	}
	vectors, err := e.embed(ctx, q.options.Timeout, []string{text})
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// EmbedTexts returns the vectors of texts by the configured model, in their order; nil: a text has none.
func (q *Queries) EmbedTexts(ctx context.Context, texts []string) ([]Vector, error) {
	return q.texts.embed(ctx, textsTimeout, texts)
}

// embed embeds the texts, unless the breaker is open.
func (e *breakerEmbedder) embed(ctx context.Context, timeout time.Duration, texts []string) ([]Vector, error) {
	if !e.breaker.Allow() {
		return nil, fault.New(fault.Unavailable, "the embedder does not answer").After(queryRetry)
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	vectors, err := e.Embed(limited, texts)
	switch {
	case err == nil && len(vectors) == len(texts):
		e.breaker.RecordSuccess()
		return vectors, nil
	case err == nil:
		err = fault.New(fault.BadGateway, "the embedder returned a wrong number of vectors")
	case ctx.Err() != nil: // the caller cancelled: not a failure of the embedder
		return nil, err
	case limited.Err() != nil && !fault.Is(err, fault.Timeout):
		err = fault.Wrap(err, fault.Timeout, "the embedder did not answer in time")
	}
	if fault.Is(err, fault.Invalid) { // it responds, and refuses a text
		e.breaker.RecordSuccess()
	} else {
		e.breaker.RecordFailure()
	}
	return nil, err
}

// embedderFor returns the embedder of a model. It replaces the other embedder if necessary.
func (q *Queries) embedderFor(model Model) (*breakerEmbedder, error) {
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
	e, ok := q.options.Other(model)
	if !ok {
		return nil, ErrOtherModel
	}
	q.closeOther()
	q.other = &breakerEmbedder{Embedder: e}
	return q.other, nil
}

// closeOther closes the other embedder. Calls in progress are not interrupted.
func (q *Queries) closeOther() {
	if q.other != nil {
		q.other.Close()
	}
}

// Close closes the connections of the other embedder. The next query for its model requests
// the embedder again.
func (q *Queries) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closeOther()
	q.other = nil
}
