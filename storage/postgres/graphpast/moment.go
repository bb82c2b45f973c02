// Package graphpast reads nodes and edges as they were after a change, from their rows and from the journal.
package graphpast

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
)

// Moment selects a state of a graph: the one after the change with Sequence, or the one after the last change up to
// Time. At most one of them is set; none is the current state.
type Moment struct {
	Sequence int64
	Time     *time.Time
}

// IsSet reports whether a state is selected.
func (m Moment) IsSet() bool { return m.Sequence != 0 || m.Time != nil }

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
