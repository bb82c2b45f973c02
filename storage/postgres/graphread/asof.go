package graphread

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
	"github.com/livegraph/livegraph/storage/postgres/graphpast"
)

// Past is a node or an edge as of a sequence.
type Past[T any] struct {
	Item     T
	Sequence int64
}

// NodeAsOf reads a node as of a moment. The error is NotFound if it was not live then, or if its content was purged
// since.
func (db *Store) NodeAsOf(
	ctx context.Context, workspace, id uuid.UUID, m graphpast.Moment,
) (found Past[graph.Node], err error) {
	err = db.inPast(ctx, workspace, m, func(p *graphpast.Reader) error {
		live, purged, err := p.Nodes(ctx, []uuid.UUID{id})
		if err != nil {
			return err
		}
		if purged[id] {
			return graphpast.ErrPurged("node")
		}
		n, ok := live[id]
		if !ok {
			return fault.New(fault.NotFound, "No such node")
		}
		found = Past[graph.Node]{Item: n, Sequence: p.Sequence()}
		return nil
	})
	return found, err
}

// EdgeAsOf reads an edge as of a moment. The error is NotFound if it was not live then, or if its content was purged
// since.
func (db *Store) EdgeAsOf(
	ctx context.Context, workspace, id uuid.UUID, m graphpast.Moment,
) (found Past[graph.Edge], err error) {
	err = db.inPast(ctx, workspace, m, func(p *graphpast.Reader) error {
		e, err := p.Edge(ctx, id)
		if err == nil && e == nil {
			err = fault.New(fault.NotFound, "No such edge")
		}
		if err == nil {
			found = Past[graph.Edge]{Item: *e, Sequence: p.Sequence()}
		}
		return err
	})
	return found, err
}

// inPast runs work with the reader of a moment, in one snapshot.
func (db *Store) inPast(
	ctx context.Context, workspace uuid.UUID, m graphpast.Moment, work func(*graphpast.Reader) error,
) error {
	err := db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		r, err := graphpast.NewReader(ctx, tx, workspace, m, db.limits.pastEntries)
		if err != nil {
			return err
		}
		return work(r)
	})
	if err != nil {
		return postgres.Classify(fmt.Errorf("reading the graph as of a moment: %w", err))
	}
	return nil
}
