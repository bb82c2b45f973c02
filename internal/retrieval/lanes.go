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
	"github.com/livegraph/livegraph/internal/retrieval/embed"
)

// How much the lanes are asked for: always the same, so that pages of one search fit
// together, and little enough that asking for it is not what a search waits for.
const (
	textHits    = 250
	vectorNodes = 200
	namedHits   = 50
	// vectorHits is how many chunks are asked for first: some more than nodes, because
	// several may be of one.
	vectorHits = 256
	// mostVectorHits is where asking for more ends when the nearest chunks are of few
	// nodes, or a filter that more than MostNodes nodes pass lets few of them pass.
	mostVectorHits = 4_096
	retryAfter     = 2 * time.Second
)

// found is what the lanes say of a node.
type found struct {
	id     uuid.UUID
	passes bool    // the text lane, which reads the truth, says so
	named  float64 // how certainly the query names it, see NamedNode; 0: it does not
	share  float64 // of the query's weight, see TextHit; 0: the text lane did not find it
	vector float64 // cosine of the nearest chunk, if chunk is one
	chunk  int     // -1: the lane did not find it
}

// findings are what the lanes found, sorted by id.
type findings struct {
	nodes []found
	asked int      // lanes
	away  []string // lanes that could not be asked
	why   error    // of the first of them
}

// seek asks the lanes that count for something, all at once. Every node that comes out
// stands and passes the filter; extra are nodes to be looked at as well.
func (e *Engine) seek(ctx context.Context, q *Query, w Weights, extra []uuid.UUID) (*findings, error) {
	var (
		text               TextFindings
		near               []VectorHit
		errText, errVector error
		group              sync.WaitGroup
		lanes              []string
	)
	if w.Text > 0 {
		lanes = append(lanes, LaneText)
		group.Go(func() {
			errText = e.lane(ctx, LaneText, func(ctx context.Context) (err error) {
				text, err = e.deps.Text.SearchText(ctx, q.Workspace, q.Text, q.Filter, textHits, namedHits)
				return err
			})
		})
	}
	if w.Vector > 0 {
		lanes = append(lanes, LaneVector)
		group.Go(func() {
			errVector = e.lane(ctx, LaneVector, func(ctx context.Context) (err error) {
				near, err = e.askVectors(ctx, q)
				return err
			})
		})
	}
	group.Wait()
	f := &findings{asked: len(lanes)}
	for _, lane := range []struct {
		name string
		err  error
	}{{LaneText, errText}, {LaneVector, errVector}} {
		switch {
		case lane.err == nil:
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !away(lane.err):
			return nil, lane.err
		default:
			f.away, f.why = append(f.away, lane.name), cmp.Or(f.why, lane.err)
		}
	}
	f.gather(text, near)
	for _, id := range extra {
		f.nodes = append(f.nodes, found{id: id, chunk: -1})
	}
	return f, e.keepPassing(ctx, q, f)
}

// lane runs what a lane is asked within the lane's time.
func (e *Engine) lane(ctx context.Context, name string, ask func(context.Context) error) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, e.deps.LaneTimeout)
	defer cancel()
	err := ask(limited)
	if err != nil && ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = fault.Wrap(err, fault.Timeout, "The "+name+" search took too long")
	}
	e.deps.Observe(name, time.Since(began), err)
	if err != nil && ctx.Err() == nil {
		e.deps.Logger.WarnContext(ctx, "a lane of a search did not answer", "lane", name, "error", err)
	}
	return err
}

// away reports whether a lane cannot be asked now but may be later.
func away(err error) bool {
	switch fault.KindOf(err) {
	case fault.Unavailable, fault.Timeout, fault.BadGateway, fault.RateLimited:
		return true
	default:
		return false
	}
}

// missing is the error of a search that cannot do without a lane. What the lane said
// is for the log, except for why an index does not suit.
func missing(lane string, why error) error {
	f := fault.Wrap(why, fault.Unavailable, "The "+lane+" search is not available").After(retryAfter).With("lane", lane)
	var mismatch *modelMismatch
	if errors.As(why, &mismatch) {
		f.Message += ": " + mismatch.Error()
	}
	var cause *fault.Error
	if errors.As(why, &cause) && cause.RetryAfter > 0 {
		f.RetryAfter = cause.RetryAfter
	}
	return f
}

// modelMismatch says that the vectors of an index and of the query do not mix.
type modelMismatch struct{ index, embedder embed.Model }

func (m *modelMismatch) Error() string {
	return fmt.Sprintf(
		"the index was made by %s and the embedder is %s; the index is being made anew", m.index, m.embedder,
	)
}

func (e *Engine) askVectors(ctx context.Context, q *Query) (hits []VectorHit, err error) {
	var (
		index      Index
		vector     embed.Vector
		near       Near
		none, open bool
		errOf      error
		group      sync.WaitGroup
	)
	group.Go(func() { near, none, open, errOf = e.narrow(ctx, q) })
	index, vector, err = e.embed(ctx, q.Text)
	group.Wait()
	if err := cmp.Or(err, errOf); err != nil {
		return nil, err
	}
	if vector == nil || none {
		return nil, nil // a text that means nothing to the model is near nothing
	}
	for limit := vectorHits; ; limit *= 4 {
		if hits, err = e.askNearest(ctx, index, q, vector, near, limit); err != nil {
			return nil, err
		}
		last := len(hits) < limit || limit >= mostVectorHits
		if open {
			if hits, err = e.passingHits(ctx, q, hits); err != nil {
				return nil, err
			}
		}
		if hits = nearestOfNodes(hits); last || len(hits) >= vectorNodes {
			return hits[:min(len(hits), vectorNodes)], nil
		}
	}
}

// nearestOfNodes leaves the nearest chunk of each node, in their order.
func nearestOfNodes(hits []VectorHit) []VectorHit {
	seen := make(map[uuid.UUID]struct{}, len(hits))
	return slices.DeleteFunc(hits, func(h VectorHit) bool {
		_, again := seen[h.Node]
		seen[h.Node] = struct{}{}
		return again
	})
}

// embed finds the live index and embeds a text by the model of its vectors, which is
// another than the configured one until a new index takes its place.
func (e *Engine) embed(ctx context.Context, text string) (index Index, vector embed.Vector, err error) {
	model := e.deps.Embedder.Model()
	if last := e.searched.Load(); last != nil {
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
		e.searched.Store(&index.Model)
		vector, err = e.deps.Embedder.EmbedQuery(ctx, index.Model, text)
	}
	if errors.Is(err, embed.ErrOtherModel) {
		mismatch := &modelMismatch{index.Model, e.deps.Embedder.Model()}
		err = fault.Wrap(mismatch, fault.Unavailable, mismatch.Error()).After(retryAfter)
	}
	return index, vector, err
}

// askNearest asks the store of vectors, unless it has not answered others.
func (e *Engine) askNearest(
	ctx context.Context, index Index, q *Query, vector embed.Vector, near Near, limit int,
) ([]VectorHit, error) {
	if !e.nearest.Admits() {
		return nil, fault.New(fault.Unavailable, "The store of vectors does not answer").After(retryAfter)
	}
	hits, err := e.deps.Vectors.Nearest(ctx, index, q.Workspace, vector, near, limit)
	switch late := errors.Is(ctx.Err(), context.DeadlineExceeded); {
	case err == nil:
		e.nearest.Answered()
	case ctx.Err() != nil && !late: // the caller's end says nothing of the store
	case late || away(err):
		e.nearest.Failed()
	}
	return hits, err
}

// narrow reports what the vector lane is to look at: what passes the filter, if it is
// little, else what is of the right types, and open says that not all of it passes.
func (e *Engine) narrow(ctx context.Context, q *Query) (near Near, none, open bool, err error) {
	near.EntityTypes = q.Filter.EntityTypes
	if len(q.Filter.Properties) == 0 {
		return near, false, false, nil
	}
	ids, more, err := e.deps.Graph.MatchingNodes(ctx, q.Workspace, q.Filter, MostNodes)
	if err != nil || more {
		return near, false, more, err
	}
	near.Nodes = ids
	return near, len(ids) == 0, false, nil
}

func (e *Engine) passingHits(ctx context.Context, q *Query, hits []VectorHit) ([]VectorHit, error) {
	var ids []uuid.UUID
	for _, h := range hits {
		ids = append(ids, h.Node)
	}
	passing, err := e.passing(ctx, q, ids)
	return slices.DeleteFunc(hits, func(h VectorHit) bool { _, ok := passing[h.Node]; return !ok }), err
}

// gather puts together what is said of each node.
func (f *findings) gather(text TextFindings, near []VectorHit) {
	at := map[uuid.UUID]int{}
	of := func(id uuid.UUID) *found {
		n, known := at[id]
		if !known {
			n = len(f.nodes)
			at[id] = n
			f.nodes = append(f.nodes, found{id: id, chunk: -1})
		}
		return &f.nodes[n]
	}
	for _, h := range text.Hits {
		n := of(h.Node)
		n.passes, n.share = true, h.Share
	}
	for _, named := range text.Named {
		n := of(named.Node)
		n.passes, n.named = true, min(max(named.Mass, 0), 1)
	}
	for _, h := range near {
		if n := of(h.Node); n.chunk < 0 || h.Cosine > n.vector {
			n.vector, n.chunk = h.Cosine, h.Chunk
		}
	}
}

// keepPassing leaves the nodes that stand and pass, sorted, each once.
func (e *Engine) keepPassing(ctx context.Context, q *Query, f *findings) error {
	var ids []uuid.UUID
	for _, n := range f.nodes {
		if !n.passes {
			ids = append(ids, n.id)
		}
	}
	passing, err := e.passing(ctx, q, ids)
	f.nodes = slices.DeleteFunc(f.nodes, func(n found) bool { _, ok := passing[n.id]; return !ok && !n.passes })
	slices.SortStableFunc(f.nodes, func(a, b found) int { return compareIDs(a.id, b.id) })
	f.nodes = slices.CompactFunc(f.nodes, func(a, b found) bool { return a.id == b.id }) // the first is what a lane said
	return err
}

func (e *Engine) passing(ctx context.Context, q *Query, ids []uuid.UUID) (map[uuid.UUID]struct{}, error) {
	slices.SortFunc(ids, compareIDs)
	list, err := e.deps.Graph.PassingNodes(ctx, q.Workspace, slices.Compact(ids), q.Filter)
	set := make(map[uuid.UUID]struct{}, len(list))
	for _, id := range list {
		set[id] = struct{}{}
	}
	return set, err
}
