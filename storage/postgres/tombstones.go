package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// CeilingUnlimited is the version ceiling of a tombstone that no version passes:
// that of a deleted source.
const CeilingUnlimited = 1<<63 - 1

// tombstoneOverlap is how far TombstonesSince reaches back beyond the time it is
// given: longer than an insert takes between its timestamp and its commit.
const tombstoneOverlap = 10 * time.Second

// Tombstone says that points are deleted: those of a source of a workspace, of one
// metric or all, in [FromUS, ToUS), up to and including a version.
type Tombstone struct {
	// Where the deletion stands: partition and version of its record, and its
	// number there. A tombstone is written once however often the record is read.
	Partition     int32
	RecordVersion uint64
	Ordinal       int32

	Workspace uuid.UUID
	Source    uuid.UUID
	Metric    *string // nil: all
	FromUS    *int64  // microseconds since the Unix epoch; nil: from the beginning
	ToUS      *int64  // exclusive; nil: without end
	Ceiling   uint64
}

// AddTombstones writes tombstones; those that are there stay as they are.
func (db *DB) AddTombstones(ctx context.Context, tombstones []Tombstone) error {
	batch := &pgx.Batch{}
	for _, t := range tombstones {
		batch.Queue(`INSERT INTO tombstones (partition, record_version, ordinal, workspace_id, source_id, metric, from_us, to_us, version_ceiling)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT DO NOTHING`,
			t.Partition, int64(t.RecordVersion), t.Ordinal, t.Workspace, t.Source, t.Metric, t.FromUS, t.ToUS, int64(t.Ceiling))
	}
	if batch.Len() == 0 {
		return nil
	}
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return classify(fmt.Errorf("writing tombstones: %w", err))
	}
	return nil
}

const selectTombstones = `SELECT partition, record_version, ordinal, workspace_id, source_id, metric, from_us, to_us, version_ceiling
	FROM tombstones`

// AgedTombstones gives the tombstones that were written after a time of the
// database and are of an age by now, and the time up to which these are.
func (db *DB) AgedTombstones(ctx context.Context, after time.Time, age time.Duration) ([]Tombstone, time.Time, error) {
	var upTo time.Time
	var aged []Tombstone
	err := pgx.BeginFunc(ctx, db.pool, func(tx pgx.Tx) error { // one now() for both
		if err := tx.QueryRow(ctx, `SELECT now() - make_interval(secs => $1)`, age.Seconds()).Scan(&upTo); err != nil {
			return err
		}
		rows, err := tx.Query(ctx, selectTombstones+` WHERE created_at > $1 AND created_at <= $2`, after, upTo)
		if err != nil {
			return err
		}
		aged, err = pgx.CollectRows(rows, scanTombstone)
		return err
	})
	if err != nil {
		return nil, time.Time{}, classify(fmt.Errorf("reading tombstones: %w", err))
	}
	return aged, upTo, nil
}

// ConsumerState is what a consumer has to know before it writes.
type ConsumerState struct {
	Generations Generations
	Tombstones  []Tombstone // those written since, and some that are known already
	Gone        []uuid.UUID // workspaces that were deleted since, likewise
	// Horizon is the time before which tombstones may have been forgotten, so that
	// what was received before must not be stored any more; zero: none was.
	Horizon time.Time
	AsOf    time.Time // the database's time, for the next call
}

// ConsumerState reads in one go the generations of a topic, and the tombstones that
// were written and the workspaces that were deleted since a time of the database; the
// zero time gives all of them.
func (db *DB) ConsumerState(ctx context.Context, topic string, since time.Time) (ConsumerState, error) {
	var state ConsumerState
	batch := &pgx.Batch{}
	batch.Queue(`SELECT now(), (SELECT tombstones_from FROM installation)`).QueryRow(func(row pgx.Row) error {
		var horizon *time.Time
		err := row.Scan(&state.AsOf, &horizon)
		if horizon != nil {
			state.Horizon = *horizon
		}
		return err
	})
	batch.Queue(selectGenerations, topic).Query(func(rows pgx.Rows) (err error) {
		state.Generations, err = collectGenerations(rows)
		return err
	})
	batch.Queue(selectTombstones+` WHERE created_at >= $1`, since.Add(-tombstoneOverlap)).Query(func(rows pgx.Rows) (err error) {
		state.Tombstones, err = pgx.CollectRows(rows, scanTombstone)
		return err
	})
	batch.Queue(`SELECT id FROM workspaces WHERE deleted_at >= $1`, since.Add(-tombstoneOverlap)).Query(func(rows pgx.Rows) (err error) {
		state.Gone, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return ConsumerState{}, classify(fmt.Errorf("reading generations and tombstones: %w", err))
	}
	return state, nil
}

func scanTombstone(row pgx.CollectableRow) (Tombstone, error) {
	var t Tombstone
	var version, ceiling int64
	err := row.Scan(&t.Partition, &version, &t.Ordinal, &t.Workspace, &t.Source, &t.Metric, &t.FromUS, &t.ToUS, &ceiling)
	t.RecordVersion, t.Ceiling = uint64(version), uint64(ceiling)
	return t, err
}
