package textindex

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/internal/retrieval/vector"
	"github.com/livegraph/livegraph/storage/postgres"
)

// IndexState is the state of a search index.
type IndexState string

// States of a search index.
const (
	IndexBuilding IndexState = "building" // being built, not searched yet
	IndexLive     IndexState = "live"     // searched
	IndexRetired  IndexState = "retired"  // replaced by another
	IndexFailed   IndexState = "failed"   // abandoned before it was live
)

// Causes of the build of an index.
const (
	CauseFirst     = "first" // there was no index
	CauseLost      = "lost"  // Milvus lost the live index
	CauseModel     = "model" // the configured embedder changed
	CauseRequested = "asked" // a request
)

// SearchIndex is an index of the nodes' texts in Milvus.
type SearchIndex struct {
	ID         uuid.UUID
	Model      vector.Model // of its vectors
	Collection string       // in Milvus
	State      IndexState
	Cause      string
	Prepared   bool // its collection exists
	CreatedAt  time.Time
	SwitchedAt *time.Time // when it became live
	EndedAt    *time.Time // when it was retired or failed
}

const selectIndexes = `SELECT id, model, dimensions, collection, state, cause, prepared, created_at, switched_at,
	ended_at FROM search_indexes `

func scanIndex(row pgx.CollectableRow) (SearchIndex, error) {
	var i SearchIndex
	err := row.Scan(
		&i.ID, &i.Model.Name, &i.Model.Dimensions, &i.Collection, &i.State, &i.Cause, &i.Prepared, &i.CreatedAt,
		&i.SwitchedAt, &i.EndedAt,
	)
	return i, err
}

func (db *Store) searchIndexes(ctx context.Context, where string, args ...any) ([]SearchIndex, error) {
	rows, err := db.pool.Query(ctx, selectIndexes+where, args...)
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the search indexes: %w", err))
	}
	list, err := pgx.CollectRows(rows, scanIndex)
	return list, postgres.Classify(err)
}

// LiveIndex returns the index that is searched. The error is Unavailable if there is none yet.
func (db *Store) LiveIndex(ctx context.Context) (SearchIndex, error) {
	list, err := db.searchIndexes(ctx, `WHERE state = 'live'`)
	if err == nil && len(list) == 0 {
		err = fault.New(fault.Unavailable, "The search index is not built yet").After(time.Second)
	}
	if err != nil {
		return SearchIndex{}, err
	}
	return list[0], nil
}

// OpenIndexes returns the indexes that changes are written to: the live one, followed by the one that
// is being built. Either may not exist.
func (db *Store) OpenIndexes(ctx context.Context) ([]SearchIndex, error) {
	return db.searchIndexes(ctx, `WHERE state IN ('live', 'building') ORDER BY state DESC`)
}

// EndedIndexes returns the indexes that have been retired or failed for at least age and are not
// completely removed.
func (db *Store) EndedIndexes(ctx context.Context, age time.Duration) ([]SearchIndex, error) {
	return db.searchIndexes(ctx, `WHERE state IN ('retired', 'failed') AND dropped_at IS NULL
		AND ended_at <= now() - make_interval(secs => $1) ORDER BY created_at`, age.Seconds())
}

// UndroppedIndexes returns all indexes whose collection may exist. Data that is erased must be
// removed from each.
func (db *Store) UndroppedIndexes(ctx context.Context) ([]SearchIndex, error) {
	return db.searchIndexes(ctx, `WHERE dropped_at IS NULL ORDER BY created_at`)
}

// endedRetention is the time that rows of ended indexes and requests are kept.
const endedRetention = "30 days"

// BeginIndex creates an index in state building for the waiting requests, and returns it. The name of
// its collection begins with prefix. If one is being built already, BeginIndex returns that one.
func (db *Store) BeginIndex(ctx context.Context, model vector.Model, prefix, cause string) (SearchIndex, error) {
	id := uuid.New()
	collection := prefix + "_" + strings.ReplaceAll(id.String(), "-", "")
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		for _, old := range []string{
			`DELETE FROM reindex_requests WHERE index_id IS NOT NULL
				AND requested_at < now() - interval '` + endedRetention + `'`,
			`DELETE FROM search_indexes WHERE dropped_at < now() - interval '` + endedRetention + `'`,
		} {
			if _, err := tx.Exec(ctx, old); err != nil {
				return fmt.Errorf("forgetting old search indexes: %w", err)
			}
		}
		_, err := tx.Exec(
			ctx, `INSERT INTO search_indexes (id, model, dimensions, collection, cause) VALUES ($1, $2, $3, $4, $5)
			ON CONFLICT (state) WHERE state = 'building' DO NOTHING`, id, model.Name, model.Dimensions, collection, cause,
		)
		if err != nil {
			return fmt.Errorf("noting a search index: %w", err)
		}
		_, err = tx.Exec(
			ctx,
			`UPDATE reindex_requests SET index_id = (SELECT id FROM search_indexes WHERE state = 'building')
				WHERE index_id IS NULL`,
		)
		return err
	})
	if err != nil {
		return SearchIndex{}, err
	}
	list, err := db.searchIndexes(ctx, `WHERE state = 'building'`)
	if err == nil && len(list) == 0 {
		err = fault.New(fault.Conflict, "The index is no longer being built")
	}
	if err != nil {
		return SearchIndex{}, err
	}
	return list[0], nil
}

// PreparedIndex records that the collection of an index exists.
func (db *Store) PreparedIndex(ctx context.Context, id uuid.UUID) error {
	return db.changeIndex(ctx, `UPDATE search_indexes SET prepared = true WHERE id = $1 AND state = 'building'`, id)
}

// ResumeIndex records the time and the number of nodes done at which the build of an index starts or
// continues, from which the remaining time is estimated.
func (db *Store) ResumeIndex(ctx context.Context, id uuid.UUID) error {
	return db.changeIndex(ctx, `UPDATE search_indexes SET began_at = now(), began_done = COALESCE(
		(SELECT sum(nodes) FROM embedding_progress WHERE index_id = $1), 0) WHERE id = $1 AND state = 'building'`, id)
}

// SwitchIndex makes the index that was built the live one, and retires the previous one.
func (db *Store) SwitchIndex(ctx context.Context, id uuid.UUID) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := tx.Exec(
			ctx, `UPDATE search_indexes SET state = 'retired', ended_at = now() WHERE state = 'live' AND EXISTS
			(SELECT FROM search_indexes WHERE id = $1 AND state = 'building')`, id,
		); err != nil {
			return fmt.Errorf("retiring a search index: %w", err)
		}
		_, err := tx.Exec(
			ctx,
			`UPDATE search_indexes SET state = 'live', switched_at = now(), error = NULL WHERE id = $1 AND state = 'building'`,
			id,
		)
		return err
	})
}

// FailIndex abandons an index that is being built. Its requests wait for another index.
func (db *Store) FailIndex(ctx context.Context, id uuid.UUID, reason string) error {
	return db.root.InTx(ctx, func(tx pgx.Tx) error {
		tag, err := tx.Exec(
			ctx, `UPDATE search_indexes SET state = 'failed', ended_at = now(), error = $2 WHERE id = $1 AND state = 'building'`,
			id, reason,
		)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE reindex_requests SET index_id = NULL WHERE index_id = $1`, id)
		return err
	})
}

// forgetBatchSize is the number of rows of an ended index that one statement removes.
const forgetBatchSize = 20_000

// ForgetIndex removes the records of the nodes and the progress of an index that is retired or failed
// and whose collection is dropped. It keeps the row of the index.
func (db *Store) ForgetIndex(ctx context.Context, id uuid.UUID) error {
	for {
		tag, err := db.pool.Exec(ctx, `DELETE FROM embedding_nodes WHERE ctid = ANY (ARRAY(
			SELECT ctid FROM embedding_nodes WHERE index_id = $1 LIMIT $2))`, id, forgetBatchSize)
		if err != nil {
			return postgres.Classify(fmt.Errorf("forgetting an index's nodes: %w", err))
		}
		if tag.RowsAffected() == 0 {
			break
		}
	}
	if _, err := db.pool.Exec(ctx, `DELETE FROM embedding_progress WHERE index_id = $1`, id); err != nil {
		return postgres.Classify(fmt.Errorf("forgetting an index's progress: %w", err))
	}
	return db.changeIndex(
		ctx, `UPDATE search_indexes SET dropped_at = now() WHERE id = $1 AND state IN ('retired', 'failed')`, id,
	)
}

func (db *Store) changeIndex(ctx context.Context, statement string, args ...any) error {
	if _, err := db.pool.Exec(ctx, statement, args...); err != nil {
		return postgres.Classify(fmt.Errorf("noting the state of a search index: %w", err))
	}
	return nil
}

// errNoReindex returns the error for a request that does not exist or was deleted.
func errNoReindex(id uuid.UUID) error { return fault.Newf(fault.NotFound, "No re-index %s", id) }

// Now returns the time of the database, which rows have as timestamps.
func (db *Store) Now(ctx context.Context) (now time.Time, err error) {
	err = db.pool.QueryRow(ctx, `SELECT now()`).Scan(&now)
	return now.UTC(), postgres.Classify(err)
}

// isNoRows reports whether err means that there is no such row.
func isNoRows(err error) bool { return errors.Is(err, pgx.ErrNoRows) }
