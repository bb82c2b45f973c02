package retrieval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/platform/uuids"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// Limits of the lanes. They do not depend on the page, so that the pages of one search are
// consistent, and are low enough that they do not dominate the latency of a search.
const (
	textHits    = 250
	vectorNodes = 200
	namedHits   = 50
	// vectorHits is the number of chunks that are requested first: more than vectorNodes,
	// because several chunks may be of one node.
	vectorHits = 256
	// maxVectorHits is the maximum that is requested if the nearest chunks are of few nodes,
	// or if few of them pass a filter that more than MaxFilterNodes nodes pass.
	maxVectorHits = 4_096
	retryAfter    = 2 * time.Second
)

// finding has the results of the lanes for a node.
type finding struct {
	id     uuid.UUID
	passes bool    // the text lane found it, which reads the authoritative store
	named  float64 // certainty that the query names it, see NamedNode; 0: it does not
	share  float64 // normalised score, see TextHit; 0: the text lane did not find it
	vector float64 // cosine of the nearest chunk, if chunk is not -1
	chunk  int     // the nearest chunk; -1: the vector lane did not find the node
}

// findings are the results of the lanes, sorted by id.
type findings struct {
	nodes       []finding
	lanes       int      // number of lanes queried
	unavailable []string // lanes that could not be queried
	cause       error    // of the first of them
}

// queryLanes queries the lanes whose weight is not 0, concurrently. It adds the extra nodes.
// All nodes that it returns are live and pass the filter.
func (e *Engine) queryLanes(ctx context.Context, q *Query, w Weights, extra []uuid.UUID) (*findings, error) {
	var (
		text               TextFindings
		vectors            []VectorHit
		errText, errVector error
		group              sync.WaitGroup
		lanes              []string
	)
	if w.Text > 0 {
		lanes = append(lanes, LaneText)
		group.Go(func() {
			errText = e.runLane(ctx, LaneText, func(ctx context.Context) (err error) {
				text, err = e.deps.Text.SearchText(ctx, q.Workspace, q.Text, q.Filter, textHits, namedHits)
				return err
			})
		})
	}
	if w.Vector > 0 {
		lanes = append(lanes, LaneVector)
		group.Go(func() {
			errVector = e.runLane(ctx, LaneVector, func(ctx context.Context) (err error) {
				vectors, err = e.searchVectors(ctx, q)
				return err
			})
		})
	}
	group.Wait()
	f := &findings{lanes: len(lanes)}
	for _, lane := range []struct {
		name string
		err  error
	}{{LaneText, errText}, {LaneVector, errVector}} {
		switch {
		case lane.err == nil:
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !isUnavailable(lane.err):
			return nil, lane.err
		default:
			f.unavailable, f.cause = append(f.unavailable, lane.name), cmp.Or(f.cause, lane.err)
		}
	}
	f.merge(text, vectors)
	for _, id := range extra {
		f.nodes = append(f.nodes, finding{id: id, chunk: -1})
	}
	return f, e.keepPassing(ctx, q, f)
}

// runLane runs the search of a lane with the timeout of a lane.
func (e *Engine) runLane(ctx context.Context, name string, search func(context.Context) error) error {
	start := time.Now()
	limited, cancel := context.WithTimeout(ctx, e.deps.LaneTimeout)
	defer cancel()
	err := search(limited)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = fault.Wrap(err, fault.Timeout, "The "+name+" search took too long")
	}
	e.deps.Observe(name, time.Since(start), err)
	if err != nil && ctx.Err() == nil {
		e.deps.Logger.WarnContext(ctx, "a lane of a search did not answer", "lane", name, "error", err)
	}
	return err
}

// isUnavailable reports whether an error of a lane is temporary.
func isUnavailable(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.BadGateway, fault.RateLimited:
		return true
	default:
		return false
	}
}

// unavailableError returns the error of a search that requires an unavailable lane. Its
// message does not include the cause, except for a mismatch of models.
func unavailableError(lane string, cause error) error {
	f := fault.Wrap(cause, fault.Unavailable, "The "+lane+" search is not available").After(retryAfter).With("lane", lane)
	var mismatch *modelMismatch
	if errors.As(cause, &mismatch) {
		f.Message += ": " + mismatch.Error()
	}
	var faultErr *fault.Error
	if errors.As(cause, &faultErr) && faultErr.RetryAfter > 0 {
		f.RetryAfter = faultErr.RetryAfter
	}
	return f
}

// modelMismatch is the error of an index whose model is not that of the embedder.
type modelMismatch struct{ index, embedder embed.Model }

func (m *modelMismatch) Error() string {
	return fmt.Sprintf(
		"the index was built with %s and the embedder is %s; role embeddings rebuilds it", m.index, m.embedder,
	)
}

func (e *Engine) searchVectors(ctx context.Context, q *Query) (hits []VectorHit, err error) {
	var (
		index             Index
		vector            embed.Vector
		filter            VectorFilter
		empty, postFilter bool
		errFilter         error
		group             sync.WaitGroup
	)
	group.Go(func() { filter, empty, postFilter, errFilter = e.vectorFilter(ctx, q) })
	index, vector, err = e.embed(ctx, q.Text)
	group.Wait()
	if err := cmp.Or(err, errFilter); err != nil {
		return nil, err
	}
	if vector == nil || empty {
		return nil, nil // a text without a vector has no nearest chunks
	}
	for limit := vectorHits; ; limit *= 4 {
		if hits, err = e.nearestChunks(ctx, index, q, vector, filter, limit); err != nil {
			return nil, err
		}
		last := len(hits) < limit || limit >= maxVectorHits
		if postFilter {
			if hits, err = e.passingHits(ctx, q, hits); err != nil {
				return nil, err
			}
		}
		if hits = nearestOfNodes(hits); last || len(hits) >= vectorNodes {
			return hits[:min(len(hits), vectorNodes)], nil
		}
	}
}

// nearestOfNodes keeps the nearest chunk of each node, in order.
func nearestOfNodes(hits []VectorHit) []VectorHit {
	seen := make(map[uuid.UUID]struct{}, len(hits))
	return slices.DeleteFunc(hits, func(h VectorHit) bool {
		_, duplicate := seen[h.Node]
		seen[h.Node] = struct{}{}
		return duplicate
	})
}

// embed returns the live index and the vector of a text in the model of the index. That is
// not the configured model until a rebuilt index replaces the live one.
func (e *Engine) embed(ctx context.Context, text string) (index Index, vector embed.Vector, err error) {
	model := e.deps.Embedder.Model()
	if last := e.lastModel.Load(); last != nil {
		model = *last
	}
	var errIndex error
	var group sync.WaitGroup
	group.Go(func() { index, errIndex = e.deps.Vectors.LiveIndex(ctx) })
	vector, err = e.deps.Embedder.EmbedQuery(ctx, model, text)
	group.Wait()
	if errIndex != nil {
		return index, nil, errIndex
	}
	if index.Model != model {
		e.lastModel.Store(&index.Model)
		vector, err = e.deps.Embedder.EmbedQuery(ctx, index.Model, text)
	}
	if errors.Is(err, embed.ErrOtherModel) {
		mismatch := &modelMismatch{index.Model, e.deps.Embedder.Model()}
		err = fault.Wrap(mismatch, fault.Unavailable, mismatch.Error()).After(retryAfter)
	}
	return index, vector, err
}

// nearestChunks queries the vector store, unless the breaker is open.
func (e *Engine) nearestChunks(
	ctx context.Context, index Index, q *Query, vector embed.Vector, filter VectorFilter, limit int,
) ([]VectorHit, error) {
	if !e.vectorBreaker.Allow() {
		return nil, fault.New(fault.Unavailable, "The vector store does not answer").After(retryAfter)
	}
	hits, err := e.deps.Vectors.Nearest(ctx, index, q.Workspace, vector, filter, limit)
	switch late := errors.Is(ctx.Err(), context.DeadlineExceeded); {
	case err == nil:
		e.vectorBreaker.RecordSuccess()
		for i := range hits {
			hits[i].Cosine = index.Model.Similarity(hits[i].Cosine)
		}
	case ctx.Err() != nil && !late: // the caller cancelled: not a failure of the store
	case late || isUnavailable(err):
		e.vectorBreaker.RecordFailure()
	}
	return hits, err
}

// vectorFilter returns the filter of the vector lane: the nodes that pass the filter of the
// query if they are few, otherwise only the entity types. empty reports that no node passes.
// postFilter reports that the hits must be checked against the filter of the query.
func (e *Engine) vectorFilter(ctx context.Context, q *Query) (filter VectorFilter, empty, postFilter bool, err error) {
	filter.EntityTypes = q.Filter.EntityTypes
	if q.Filter.hasOnlyEntityTypes() {
		return filter, false, false, nil
	}
	ids, more, err := e.deps.Graph.MatchingNodes(ctx, q.Workspace, q.Filter, MaxFilterNodes)
	if err != nil || more {
		return filter, false, more, err
	}
	filter.Nodes = ids
	return filter, len(ids) == 0, false, nil
}

func (e *Engine) passingHits(ctx context.Context, q *Query, hits []VectorHit) ([]VectorHit, error) {
	var ids []uuid.UUID
	for _, h := range hits {
		ids = append(ids, h.Node)
	}
	passing, err := e.passing(ctx, q, ids)
	return slices.DeleteFunc(hits, func(h VectorHit) bool { _, ok := passing[h.Node]; return !ok }), err
}

// merge merges the results of the lanes by node.
func (f *findings) merge(text TextFindings, vectors []VectorHit) {
	indexes := map[uuid.UUID]int{}
	get := func(id uuid.UUID) *finding {
		n, known := indexes[id]
		if !known {
			n = len(f.nodes)
			indexes[id] = n
			f.nodes = append(f.nodes, finding{id: id, chunk: -1})
		}
		return &f.nodes[n]
	}
	for _, h := range text.Hits {
		n := get(h.Node)
		n.passes, n.share = true, h.NormalisedScore
	}
	for _, named := range text.Named {
		n := get(named.Node)
		n.passes, n.named = true, min(max(named.Certainty, 0), 1)
	}
	for _, h := range vectors {
		if n := get(h.Node); n.chunk < 0 || h.Cosine > n.vector {
			n.vector, n.chunk = h.Cosine, h.Chunk
		}
	}
}

// keepPassing keeps the nodes that are live and pass the filter, sorted, each once.
func (e *Engine) keepPassing(ctx context.Context, q *Query, f *findings) error {
	var ids []uuid.UUID
	for _, n := range f.nodes {
		if !n.passes {
			ids = append(ids, n.id)
		}
	}
	passing, err := e.passing(ctx, q, ids)
	f.nodes = slices.DeleteFunc(f.nodes, func(n finding) bool { _, ok := passing[n.id]; return !ok && !n.passes })
	slices.SortStableFunc(f.nodes, func(a, b finding) int { return uuids.Compare(a.id, b.id) })
	f.nodes = slices.CompactFunc(f.nodes, func(a, b finding) bool { return a.id == b.id }) // lanes precede extra nodes
	return err
}

func (e *Engine) passing(ctx context.Context, q *Query, ids []uuid.UUID) (map[uuid.UUID]struct{}, error) {
	slices.SortFunc(ids, uuids.Compare)
	list, err := e.deps.Graph.FilterNodes(ctx, q.Workspace, slices.Compact(ids), q.Filter)
	set := make(map[uuid.UUID]struct{}, len(list))
	for _, id := range list {
		set[id] = struct{}{}
	}
	return set, err
}
