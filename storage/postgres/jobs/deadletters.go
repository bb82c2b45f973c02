package jobs

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// LetterState is what was done about a dead letter.
type LetterState string

// The states.
const (
	LetterOpen      LetterState = "open" // nothing; it has no mark
	LetterRedriven  LetterState = "redriven"
	LetterDiscarded LetterState = "discarded"
)

// LogPosition is a place in a topic.
type LogPosition struct {
	Partition int32
	Offset    int64
}

// LetterMark says what was done about a dead letter, by whom and when.
type LetterMark struct {
	State  LetterState `json:"state"`
	By     string      `json:"by"`
	Reason string      `json:"reason,omitempty"`
	At     time.Time   `json:"at"`
}

// MarkLetters notes what was done about dead letters of the topic of an id. A mark
// that is there is replaced.
func (db *Store) MarkLetters(ctx context.Context, topicID [16]byte, letters []LogPosition, mark LetterMark) error {
	if len(letters) == 0 {
		return nil
	}
	partitions, offsets := columnsOf(letters)
	_, err := db.pool.Exec(ctx, `INSERT INTO dead_letter_marks (topic_id, partition, "offset", state, marked_by, reason)
		SELECT DISTINCT $1::bytea, p, o, $4::text, $5::text, NULLIF($6::text, '')
		FROM unnest($2::int[], $3::bigint[]) AS t (p, o)
		ON CONFLICT (topic_id, partition, "offset") DO UPDATE
		SET state = excluded.state, marked_by = excluded.marked_by, reason = excluded.reason, marked_at = now()`,
		topicID[:], partitions, offsets, string(mark.State), mark.By, mark.Reason)
	if err != nil {
		return postgres.Classify(fmt.Errorf("marking dead letters: %w", err))
	}
	return nil
}

// LetterMarks returns the marks of dead letters that have one.
func (db *Store) LetterMarks(
	ctx context.Context, topicID [16]byte, letters []LogPosition,
) (map[LogPosition]LetterMark, error) {
	marks := map[LogPosition]LetterMark{}
	if len(letters) == 0 {
		return marks, nil
	}
	partitions, offsets := columnsOf(letters)
	rows, err := db.pool.Query(
		ctx, `SELECT partition, "offset", state, marked_by, COALESCE(reason, ''), marked_at FROM dead_letter_marks
		JOIN unnest($2::int[], $3::bigint[]) AS t (p, o) ON partition = p AND "offset" = o WHERE topic_id = $1`,
		topicID[:], partitions, offsets,
	)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of dead letters: %w", err))
	}
	var at LogPosition
	var mark LetterMark
	_, err = pgx.ForEachRow(rows, []any{
		&at.Partition, &at.Offset, &mark.State, &mark.By, &mark.Reason, &mark.At,
	}, func() error {
		mark.At = mark.At.UTC()
		marks[at] = mark
		return nil
	})
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the marks of dead letters: %w", err))
	}
	return marks, nil
}

// CountLetterMarks counts marks by state of letters that a topic still has: starts
// are where its partitions begin.
func (db *Store) CountLetterMarks(
	ctx context.Context, topicID [16]byte, starts []LogPosition,
) (map[LetterState]int64, error) {
	partitions, offsets := columnsOf(starts)
	rows, err := db.pool.Query(ctx, `SELECT state, count(*) FROM dead_letter_marks
		JOIN unnest($2::int[], $3::bigint[]) AS t (p, o) ON partition = p AND "offset" >= o WHERE topic_id = $1
		GROUP BY state`,
		topicID[:], partitions, offsets)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("counting the marks of dead letters: %w", err))
	}
	counts := map[LetterState]int64{}
	var state LetterState
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

// AddDeadRecords notes which records of a topic were put aside; those that are noted
// stay as they are.
func (db *Store) AddDeadRecords(ctx context.Context, topicID [16]byte, records []LogPosition) error {
	partitions, offsets := columnsOf(records)
	_, err := db.pool.Exec(ctx, `INSERT INTO dead_records (topic_id, partition, "offset")
		SELECT DISTINCT $1::bytea, p, o FROM unnest($2::int[], $3::bigint[]) AS t (p, o) ON CONFLICT DO NOTHING`,
		topicID[:], partitions, offsets)
	if err != nil {
		return postgres.Classify(fmt.Errorf("noting records that were put aside: %w", err))
	}
	return nil
}

// DeadRecords counts those of some records of a topic that were put aside and not
// redriven since.
func (db *Store) DeadRecords(ctx context.Context, topicID [16]byte, records []LogPosition) (n int64, err error) {
	partitions, offsets := columnsOf(records)
	err = db.pool.QueryRow(ctx, `SELECT count(*) FROM dead_records
		JOIN unnest($2::int[], $3::bigint[]) AS t (p, o) ON partition = p AND "offset" = o
		WHERE topic_id = $1 AND redriven_at IS NULL`, topicID[:], partitions, offsets).Scan(&n)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("looking for records that were put aside: %w", err))
	}
	return n, nil
}

// RedriveDeadRecords notes that records that were put aside were put back.
func (db *Store) RedriveDeadRecords(ctx context.Context, topicID [16]byte, records []LogPosition) error {
	partitions, offsets := columnsOf(records)
	_, err := db.pool.Exec(ctx, `UPDATE dead_records SET redriven_at = now()
		FROM unnest($2::int[], $3::bigint[]) AS t (p, o) WHERE topic_id = $1 AND partition = p AND "offset" = o`,
		topicID[:], partitions, offsets)
	if err != nil {
		return postgres.Classify(fmt.Errorf("noting records that were put back: %w", err))
	}
	return nil
}

// PruneDeadRecords removes notes older than kept, at most so many, and reports how many.
func (db *Store) PruneDeadRecords(ctx context.Context, kept time.Duration, limit int) (int64, error) {
	tag, err := db.pool.Exec(ctx, `DELETE FROM dead_records WHERE (topic_id, partition, "offset") IN (
		SELECT topic_id, partition, "offset" FROM dead_records WHERE created_at < now() - make_interval(secs => $1)
		ORDER BY created_at LIMIT $2)`, kept.Seconds(), limit)
	if err != nil {
		return 0, postgres.Classify(fmt.Errorf("removing old notes of records that were put aside: %w", err))
	}
	return tag.RowsAffected(), nil
}

func columnsOf(places []LogPosition) (partitions []int32, offsets []int64) {
	partitions, offsets = make([]int32, len(places)), make([]int64, len(places))
	for i, p := range places {
		partitions[i], offsets[i] = p.Partition, p.Offset
	}
	return partitions, offsets
}
