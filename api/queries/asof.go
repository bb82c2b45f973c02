package queries

import (
	"context"
	"math"
	"net/http"

	"github.com/google/uuid"

	"github.com/livegraph/livegraph/api/graphjson"
	"github.com/livegraph/livegraph/api/reply"
	"github.com/livegraph/livegraph/api/request"
	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
	"github.com/livegraph/livegraph/storage/postgres/graphread"
)

const (
	// pastMemory bounds the memory of all reads as of a moment. A read of a node or an edge decodes one large change at
	// a time, one of neighbors keeps the edges of many.
	pastMemory         = 256 << 20
	pastResourceMemory = 32 << 20
	pastNeighborMemory = 64 << 20
)

// pastNode is a node as of a sequence.
type pastNode struct {
	graphjson.Node `json:",inline"`
	AsOfSequence   int64 `json:"asOfSequence"`
}

// pastEdge is an edge as of a sequence.
type pastEdge struct {
	graphjson.Edge `json:",inline"`
	AsOfSequence   int64 `json:"asOfSequence"`
}

// moment parses the parameters asOfSequence and asOf.
func moment(p *request.Params) (m graphpast.Moment) {
	m.Sequence = int64(p.Int("asOfSequence", 0, 1, math.MaxInt64))
	m.Time = p.Time("asOf")
	if m.Sequence != 0 && m.Time != nil {
		p.Fail("asOf", "cannot be combined with asOfSequence")
	}
	return m
}

// readPast reads a resource as of a moment and responds with it.
func readPast[T, S any](
	a *api, w http.ResponseWriter, r *http.Request, id uuid.UUID, m graphpast.Moment,
	read func(context.Context, uuid.UUID, uuid.UUID, graphpast.Moment) (graphread.Past[T], error),
	show func(*graphread.Past[T]) S,
) error {
	ctx, cancel := context.WithTimeout(r.Context(), a.QueryTimeout)
	defer cancel()
	share, err := a.past.Acquire(ctx, pastResourceMemory)
	if err != nil {
		return err
	}
	defer share.Release()
	found, err := read(ctx, request.PrincipalOf(ctx).Workspace, id, m)
	if err != nil {
		return err
	}
	reply.Resource(w, r, show(&found))
	return nil
}

func showPastNode(p *graphread.Past[graph.Node]) pastNode {
	return pastNode{Node: graphjson.OfNode(&p.Item), AsOfSequence: p.Sequence}
}

func showPastEdge(p *graphread.Past[graph.Edge]) pastEdge {
	return pastEdge{Edge: graphjson.OfEdge(&p.Item), AsOfSequence: p.Sequence}
}

// asOf returns the sequence of a list as of a moment, or nil.
func asOf(list *graphread.NeighborList) *int64 {
	if list.Sequence == 0 {
		return nil
	}
	return &list.Sequence
}
