package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// DeadLetterState is the state of a dead letter.
type DeadLetterState string

// The states.
const (
	DeadLetterOpen      DeadLetterState = "open" // nothing was done; it has no mark
	DeadLetterRedriven  DeadLetterState = "redriven"
	DeadLetterDiscarded DeadLetterState = "discarded"
)

// LogPosition is the position of a record in a topic.
type LogPosition struct {
	Partition int32
	Offset    int64
}

// DeadLetterMark records what was done with a dead letter, by whom and when.
type DeadLetterMark struct {
	State    DeadLetterState `json:"state"`
	MarkedBy string          `json:"by"`
	Reason   string          `json:"reason,omitempty"`
	At       time.Time       `json:"at"`
}

// MarkDeadLetters marks dead letters of the topic with an id. It replaces existing marks.
func (db *Store) MarkDeadLetters(
	ctx context.Context, topicID [16]byte, positions []LogPosition, mark DeadLetterMark,
) error {
	if len(positions) == 0 {
		return nil
	}
	partitions, offsets := toColumns(positions)
	_, err := db.pool.Exec(ctx, `INSERT INTO dead_letter_marks (topic_id, partition, "offset", state, marked_by, reason)
		SELECT DISTINCT $1::bytea, p, o, $4::text, $5::text, NULLIF($6::text, '')
		FROM unnest($2::int[], $3::bigint[]) AS t (p, o)
		ON CONFLICT (topic_id, partition, "offset") DO UPDATE
		SET state = excluded.state, marked_by = excluded.marked_by, reason = excluded.reason, marked_at = now()`,
		topicID[:], partitions, offsets, string(mark.State), mark.MarkedBy, mark.Reason)
	if err != nil {
		return postgres.Classify(fmt.Errorf("marking dead letters: %w", err))
	}
	return nil
}

// DeadLetterMarks returns the marks of those dead letters that have one.
func (db *Store) DeadLetterMarks(
	ctx context.Context, topicID [16]byte, positions []LogPosition,
) (map[LogPosition]DeadLetterMark, error) {
	marks := map[LogPosition]DeadLetterMark{}
	if len(positions) == 0 {
		return marks, nil
	}
	partitions, offsets := toColumns(positions)
	rows, err := db.pool.Query(
		ctx, `SELECT partition, "offset", state, marked_by, COALESCE(reason, ''), marked_at FROM dead_letter_marks
		JOIN unnest($2::int[], $3::bigint[]) AS t (p, o) ON partition = p AND "offset" = o WHERE topic_id = $1`,
		topicID[:], partitions, offsets,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of dead letters: %w", err))
	}
	var position LogPosition
	var mark DeadLetterMark
	_, err = pgx.ForEachRow(rows, []any{
		&position.Partition, &position.Offset, &mark.State, &mark.MarkedBy, &mark.Reason, &mark.At,
	}, func() error {
		mark.At = mark.At.UTC()
		marks[position] = mark
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of dead letters: %w", err))
	}
	return marks, nil
}

// CountDeadLetterMarks returns the number of marks by state of the dead letters that a topic
// still has. starts are the start offsets of its partitions.
func (db *Store) CountDeadLetterMarks(
	ctx context.Context, topicID [16]byte, starts []LogPosition,
) (map[DeadLetterState]int64, error) {
	partitions, offsets := toColumns(starts)
	rows, err := db.pool.Query(ctx, `SELECT state, count(*) FROM dead_letter_marks
		JOIN unnest($2::int[], $3::bigint[]) AS t (p, o) ON partition = p AND "offset" >= o WHERE topic_id = $1
		GROUP BY state`,
		topicID[:], partitions, offsets)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("counting the marks of dead letters: %w", err))
	}
	counts := map[DeadLetterState]int64{}
	var state DeadLetterState
	var n int64
	_, err = pgx.ForEachRow(rows, []any{&state, &n}, func() error {
		counts[state] = n
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("counting the marks of dead letters: %w", err))
	}
	return counts, nil
}

// AddDeadRecords stores which records of a topic were dead-lettered. Records that are stored
// already stay unchanged.
func (db *Store) AddDeadRecords(ctx context.Context, topicID [16]byte, records []LogPosition) error {
	partitions, offsets := toColumns(records)
	_, err := db.pool.Exec(ctx, `INSERT INTO dead_records (topic_id, partition, "offset")
		SELECT DISTINCT $1::bytea, p, o FROM unnest($2::int[], $3::bigint[]) AS t (p, o) ON CONFLICT DO NOTHING`,
		topicID[:], partitions, offsets)
	if err != nil {
		return postgres.Classify(fmt.Errorf("storing dead-lettered records: %w", err))
	}
	return nil
}

// DeadRecords returns how many of the given records of a topic were dead-lettered and not
// redriven since.
func (db *Store) DeadRecords(ctx context.Context, topicID [16]byte, records []LogPosition) (n int64, err error) {
	partitions, offsets := toColumns(records)
	err = db.pool.QueryRow(ctx, `SELECT count(*) FROM dead_records
		JOIN unnest($2::int[], $3::bigint[]) AS t (p, o) ON partition = p AND "offset" = o
		WHERE topic_id = $1 AND redriven_at IS NULL`, topicID[:], partitions, offsets).Scan(&n)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("counting dead-lettered records: %w", err))
	}
	return n, nil
}

// RedriveDeadRecords marks dead-lettered records as redriven.
func (db *Store) RedriveDeadRecords(ctx context.Context, topicID [16]byte, records []LogPosition) error {
	partitions, offsets := toColumns(records)
	_, err := db.pool.Exec(ctx, `UPDATE dead_records SET redriven_at = now()
		FROM unnest($2::int[], $3::bigint[]) AS t (p, o) WHERE topic_id = $1 AND partition = p AND "offset" = o`,
		topicID[:], partitions, offsets)
	if err != nil {
		return postgres.Classify(fmt.Errorf("marking records as redriven: %w", err))
	}
	return nil
}

// PruneDeadRecords deletes up to limit rows of dead-lettered records that are older than
// maxAge, and returns their number.
func (db *Store) PruneDeadRecords(ctx context.Context, maxAge time.Duration, limit int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM dead_records WHERE (topic_id, partition, "offset") IN (
		SELECT topic_id, partition, "offset" FROM dead_records WHERE created_at < now() - make_interval(secs => $1)
		ORDER BY created_at LIMIT $2)`, maxAge.Seconds(), limit)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("pruning dead-lettered records: %w", err))
	}
	return tag.RowsAffected(), nil
}

func toColumns(positions []LogPosition) (partitions []int32, offsets []int64) {
	partitions, offsets = make([]int32, len(positions)), make([]int64, len(positions))
	for i, p := range positions {
		partitions[i], offsets[i] = p.Partition, p.Offset
	}
	return partitions, offsets
}
