package graphread

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres"
)

// Moment selects a state of a graph: the one after the change with Sequence, or the one after the last change up to
// Time. At most one of them is set; none is the current state.
type Moment struct {
	Sequence int64
	Time     *time.Time
}

// IsSet reports whether a state is selected.
func (m Moment) IsSet() bool { return m.Sequence != 0 || m.Time != nil }

// Past is a node or an edge as of a sequence.
type Past[T any] struct {
	Item     T
	Sequence int64
}

// ReasonPurged and ReasonHistoryTooLong are the reasons of errors of reads as of a moment: the content was purged, or
// the journal has too many changes to find the state.
const (
	ReasonPurged         = "purged"
	ReasonHistoryTooLong = "history_too_long"
)

// NodeAsOf reads a node as of a moment. The error is NotFound if it was not live then, or if its content was purged
// since.
func (db *Store) NodeAsOf(ctx context.Context, workspace, id uuid.UUID, m Moment) (found Past[graph.Node], err error) {
	err = db.inPast(ctx, workspace, m, func(p *past) error {
		live, purged, err := p.nodes(ctx, []uuid.UUID{id})
		if err != nil {
			return err
		}
		if purged[id] {
			return errPurged("node")
		}
		n, ok := live[id]
		if !ok {
			return fault.New(fault.NotFound, "No such node")
		}
		found = Past[graph.Node]{Item: n, Sequence: p.sequence}
		return nil
	})
	return found, err
}

// EdgeAsOf reads an edge as of a moment. The error is NotFound if it was not live then, or if its content was purged
// since.
func (db *Store) EdgeAsOf(ctx context.Context, workspace, id uuid.UUID, m Moment) (found Past[graph.Edge], err error) {
	err = db.inPast(ctx, workspace, m, func(p *past) error {
		e, err := p.edge(ctx, id)
		if err == nil && e == nil {
			err = fault.New(fault.NotFound, "No such edge")
		}
		if err == nil {
			found = Past[graph.Edge]{Item: *e, Sequence: p.sequence}
		}
		return err
	})
	return found, err
}

func errPurged(what string) error {
	return fault.New(fault.NotFound, "The content of the "+what+" was purged").With("reason", ReasonPurged)
}

// inPast runs work with the reader of a moment, in one snapshot.
func (db *Store) inPast(ctx context.Context, workspace uuid.UUID, m Moment, work func(*past) error) error {
	err := db.root.InReadTx(ctx, func(tx pgx.Tx) error {
		sequence, err := sequenceAt(ctx, tx, workspace, m)
		if err != nil {
			return err
		}
		return work(&past{
			tx: tx, workspace: workspace, sequence: sequence, entriesLeft: db.limits.pastEntries, bytesLeft: maxPastBytes,
		})
	})
	if err != nil {
		return postgres.Classify(fmt.Errorf("reading the graph as of a moment: %w", err))
	}
	return nil
}

// selectSequenceAt finds the last change up to a time by bisection: the times of changes ascend with their sequences.
// Where a clock was set back, it finds one of the changes between the two times.
const selectSequenceAt = `WITH RECURSIVE range (low, high) AS (
		SELECT 0::bigint, $3::bigint
		UNION ALL
		SELECT CASE WHEN j.at <= $2 THEN j.sequence ELSE low END, CASE WHEN j.at <= $2 THEN high ELSE j.sequence - 1 END
		FROM range CROSS JOIN LATERAL (
			SELECT sequence, at FROM journal WHERE workspace_id = $1 AND sequence = (low + high + 1) / 2) j
		WHERE low < high)
	SELECT low FROM range WHERE low = high`

// sequenceAt returns the sequence of a moment. The error is Malformed for a sequence beyond the newest change.
func sequenceAt(ctx context.Context, tx pgx.Tx, workspace uuid.UUID, m Moment) (sequence int64, err error) {
	var head int64
	err = tx.QueryRow(ctx, `SELECT sequence FROM graph_heads WHERE workspace_id = $1`, workspace).Scan(&head)
	switch {
	case err != nil && !errors.Is(err, pgx.ErrNoRows):
		return 0, err
	case m.Time != nil:
		err = tx.QueryRow(ctx, selectSequenceAt, workspace, m.Time.UTC(), head).Scan(&sequence)
		return sequence, err
	case m.Sequence > head:
		return 0, fault.Field(
			fault.Malformed, "asOfSequence", fmt.Sprintf("is beyond the newest change, which has the sequence %d", head),
		)
	}
	return m.Sequence, nil
}
