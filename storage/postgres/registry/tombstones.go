package registry

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/storage/postgres"
)

// CeilingUnlimited is the version ceiling of a tombstone that covers all versions: that of
// a deleted source.
const CeilingUnlimited = 1<<63 - 1

// Tombstone marks points as deleted: those of a source, of one metric or all metrics, with
// times in [FromUS, ToUS) and versions up to and including Ceiling.
type Tombstone struct {
	// Partition, RecordVersion and Ordinal identify the deletion: the partition and version
	// of its record, and its index in the record. A tombstone is stored once, even if the
	// record is read several times.
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

// LockTombstones makes the numbers of tombstone_sequence become visible in order. It locks
// from before a number is drawn until after the commit.
const LockTombstones = `SELECT pg_advisory_xact_lock(hashtextextended('livegraph.tombstones', 0))`

// AddTombstones writes tombstones. For those that already exist it resets their deletions,
// so that they are executed again.
func (db *Store) AddTombstones(ctx context.Context, tombstones []Tombstone) error {
	if len(tombstones) == 0 {
		return nil
	}
	batch := &pgx.Batch{} // runs in one transaction
	batch.Queue(LockTombstones)
	for _, t := range tombstones {
		batch.Queue(`INSERT INTO tombstones AS t
			(sequence, partition, record_version, ordinal, workspace_id, source_id, metric, from_us, to_us, version_ceiling)
			VALUES (nextval('tombstone_sequence'), $1, $2, $3, $4, $5, $6, $7, $8, $9)
			ON CONFLICT (partition, record_version, ordinal) DO UPDATE SET `+ResetDeletion,
			t.Partition, int64(t.RecordVersion), t.Ordinal, t.Workspace, t.Source, t.Metric, t.FromUS, t.ToUS, int64(t.Ceiling))
	}
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return postgres.Classify(fmt.Errorf("writing tombstones: %w", err))
	}
	return nil
}

const tombstoneColumns = `partition, record_version, ordinal, workspace_id, source_id, metric,
	from_us, to_us, version_ceiling`

// SelectTombstones is the query whose rows ScanTombstone scans.
const SelectTombstones = `SELECT ` + tombstoneColumns + ` FROM tombstones`

// ConsumerState is the state that a consumer needs before it writes.
type ConsumerState struct {
	Generations Generations
	// ChangedSources are the sources with tombstones that became visible after the earlier state.
	// Gone are the workspaces that were deleted after it.
	ChangedSources    []SourceID
	DeletedWorkspaces []uuid.UUID
	// More reports that there are more changes than these. Cached tombstones of any source
	// may then be stale.
	More bool
	// Horizon is the time before which tombstones may have been removed, so that points
	// received before it must not be stored; zero: none were removed.
	Horizon time.Time
	AsOf    int64 // the sequence number up to which changes are included; since of the next call
}

// SourceID identifies a source of a workspace.
type SourceID struct{ Workspace, Source uuid.UUID }

// maxChanges is the maximum number of changes that ConsumerState returns.
const maxChanges = 10_000

// ConsumerState reads the generations of a topic, and the deletions after an earlier
// state, in one batch. since is AsOf of the earlier state. If it is 0, ConsumerState
// returns no deletions, only the current AsOf.
func (db *Store) ConsumerState(ctx context.Context, topic string, since int64) (ConsumerState, error) {
	state := ConsumerState{AsOf: since}
	batch := &pgx.Batch{}
	batch.Queue(`SELECT tombstones_from FROM installation`).Query(func(rows pgx.Rows) error {
		horizons, err := pgx.CollectRows(rows, pgx.RowTo[*time.Time])
		if len(horizons) > 0 && horizons[0] != nil {
			state.Horizon = *horizons[0]
		}
		return err
	})
	batch.Queue(selectGenerations, topic).Query(func(rows pgx.Rows) (err error) {
		state.Generations, err = collectGenerations(rows)
		return err
	})
	if since == 0 {
		batch.Queue(newestTombstone).QueryRow(func(row pgx.Row) error { return row.Scan(&state.AsOf) })
	} else {
		batch.Queue(changedSince, since, maxChanges+1).Query(state.collectChanges)
	}
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return ConsumerState{}, postgres.Classify(fmt.Errorf("reading generations and tombstones: %w", err))
	}
	return state, nil
}

// Both kinds of changes are read by one statement, and so from the same snapshot.
const (
	changedSince = `SELECT workspace_id, source_id, sequence FROM tombstones WHERE sequence > $1
		UNION ALL SELECT id, NULL, deleted_sequence FROM workspaces WHERE deleted_sequence > $1
		ORDER BY sequence LIMIT $2`
	newestTombstone = `SELECT GREATEST((SELECT max(sequence) FROM tombstones),
		(SELECT max(deleted_sequence) FROM workspaces), 1)`
)

func (s *ConsumerState) collectChanges(rows pgx.Rows) error {
	for rows.Next() {
		if len(s.ChangedSources)+len(s.DeletedWorkspaces) == maxChanges {
			s.More = true
			continue
		}
		var workspace uuid.UUID
		var source *uuid.UUID
		if err := rows.Scan(&workspace, &source, &s.AsOf); err != nil {
			return err
		}
		if source == nil {
			s.DeletedWorkspaces = append(s.DeletedWorkspaces, workspace)
		} else {
			s.ChangedSources = append(s.ChangedSources, SourceID{workspace, *source})
		}
	}
	return rows.Err()
}

// SourceMinVersion is a source of which points with a version of at least Floor are to be stored.
type SourceMinVersion struct {
	SourceID
	MinVersion uint64
}

// SourceTombstones returns the tombstones of sources that can cover points of these versions,
// and those of their workspaces that are deleted.
func (db *Store) SourceTombstones(ctx context.Context, sources []SourceMinVersion) (
	tombstones []Tombstone, deleted []uuid.UUID, err error,
) {
	if len(sources) == 0 {
		return nil, nil, nil
	}
	workspaces, ids := make([]uuid.UUID, len(sources)), make([]uuid.UUID, len(sources))
	floors := make([]int64, len(sources))
	for i, s := range sources {
		workspaces[i], ids[i], floors[i] = s.Workspace, s.Source, int64(s.MinVersion)
	}
	batch := &pgx.Batch{}
	batch.Queue(selectForSources, workspaces, ids, floors).Query(func(rows pgx.Rows) (err error) {
		tombstones, err = pgx.CollectRows(rows, ScanTombstone)
		return err
	})
	batch.Queue(
		`SELECT id FROM workspaces WHERE deleted_at IS NOT NULL AND id = ANY($1)`, workspaces,
	).Query(func(rows pgx.Rows) (err error) {
		deleted, err = pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
		return err
	})
	if err := db.pool.SendBatch(ctx, batch).Close(); err != nil {
		return nil, nil, postgres.Classify(fmt.Errorf("reading the tombstones of sources: %w", err))
	}
	return tombstones, deleted, nil
}

// OFFSET 0 makes Postgres look up each source separately, whatever the table's statistics.
const selectForSources = `
	SELECT t.* FROM unnest($1::uuid[], $2::uuid[], $3::bigint[]) AS asked (workspace, source, floor),
	LATERAL (SELECT ` + tombstoneColumns + ` FROM tombstones
		WHERE workspace_id = asked.workspace AND source_id = asked.source AND version_ceiling >= asked.floor OFFSET 0) t`

// ScanTombstone returns the tombstone of a row.
func ScanTombstone(row pgx.CollectableRow) (Tombstone, error) {
	var t Tombstone
	var version, ceiling int64
	err := row.Scan(&t.Partition, &version, &t.Ordinal, &t.Workspace, &t.Source, &t.Metric, &t.FromUS, &t.ToUS, &ceiling)
	t.RecordVersion, t.Ceiling = uint64(version), uint64(ceiling)
	return t, err
}
