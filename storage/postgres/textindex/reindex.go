package textindex

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/livegraph/livegraph/internal/retrieval/vector"
	"github.com/livegraph/livegraph/storage/postgres"
)

// ReindexState is the state of a re-index.
type ReindexState string

// States of a re-index. It is queued until a process with role embeddings starts it.
const (
	ReindexQueued  ReindexState = "queued"
	ReindexRunning ReindexState = "running"
	ReindexDone    ReindexState = "done"
)

// Reindex is a request for a new index, and its progress. Numbers count nodes of the whole
// installation.
type Reindex struct {
	ID          uuid.UUID     `json:"id"`
	State       ReindexState  `json:"state"`
	RequestedBy string        `json:"requestedBy"`
	RequestedAt time.Time     `json:"requestedAt"`
	Model       *vector.Model `json:"model"` // null while it is queued
	Done        int64         `json:"done"`
	Total       int64         `json:"total"`
	ETASeconds  *float64      `json:"etaSeconds"` // null: not known
	FinishedAt  *time.Time    `json:"finishedAt"`
}

// RequestReindex requests a new index of all workspaces, which is built from Postgres while the live
// one is searched. If one is requested or being built already, the request joins it.
func (db *Store) RequestReindex(ctx context.Context, by string) (Reindex, error) {
	id := uuid.New()
	err := db.root.InTx(ctx, func(tx pgx.Tx) error {
		// The lock serialises requests. A waiting request, if there is one, is returned for this one.
		if _, err := tx.Exec(ctx, `LOCK TABLE reindex_requests IN SHARE ROW EXCLUSIVE MODE`); err != nil {
			return err
		}
		return tx.QueryRow(
			ctx,
			`WITH waiting AS (SELECT id FROM reindex_requests WHERE index_id IS NULL ORDER BY requested_at LIMIT 1), made AS (
				INSERT INTO reindex_requests (id, requested_by, index_id)
				SELECT $1, $2, (SELECT id FROM search_indexes WHERE state = 'building') WHERE NOT EXISTS (SELECT FROM waiting)
				RETURNING id)
			SELECT id FROM waiting UNION ALL SELECT id FROM made`, id, by,
		).Scan(&id)
	})
	if err != nil {
		return Reindex{}, fmt.Errorf("asking for a new index: %w", err)
	}
	return db.Reindex(ctx, id)
}

// ReindexRequested reports whether there is a request for a new index whose build has not begun.
func (db *Store) ReindexRequested(ctx context.Context) (requested bool, err error) {
	err = db.pool.QueryRow(ctx, `SELECT EXISTS (SELECT FROM reindex_requests WHERE index_id IS NULL)`).Scan(&requested)
	return requested, postgres.Classify(err)
}

// LastReindex returns the newest request, or nil if there is none. Old requests are deleted.
func (db *Store) LastReindex(ctx context.Context) (*Reindex, error) {
	var id uuid.UUID
	err := db.pool.QueryRow(ctx, `SELECT id FROM reindex_requests ORDER BY requested_at DESC, id LIMIT 1`).Scan(&id)
	if isNoRows(err) {
		return nil, nil
	}
	if err != nil {
		return nil, postgres.Classify(fmt.Errorf("reading the last re-index: %w", err))
	}
	last, err := db.Reindex(ctx, id)
	return &last, err
}

// Reindex returns the request with an id. The error is NotFound if there is none.
func (db *Store) Reindex(ctx context.Context, id uuid.UUID) (Reindex, error) {
	var (
		r      Reindex
		state  *IndexState
		name   *string
		length *int
		index  *uuid.UUID
	)
	err := db.pool.QueryRow(
		ctx, `SELECT r.id, r.requested_by, r.requested_at, i.id, i.state, i.model, i.dimensions, i.switched_at
		FROM reindex_requests r LEFT JOIN search_indexes i ON i.id = r.index_id WHERE r.id = $1`, id,
	).Scan(
		&r.ID, &r.RequestedBy, &r.RequestedAt, &index, &state, &name, &length, &r.FinishedAt)
	if isNoRows(err) {
		return r, errNoReindex(id)
	}
	if err != nil {
		return r, postgres.Classify(fmt.Errorf("reading a re-index: %w", err))
	}
	r.RequestedAt = r.RequestedAt.UTC()
	if state == nil || *state == IndexFailed { // a failed build is started again
		r.State = ReindexQueued
		return r, nil
	}
	r.Model, r.State = &vector.Model{Name: *name, Dimensions: *length}, ReindexRunning
	build, err := db.BuildProgress(ctx, *index)
	if err != nil {
		return r, err
	}
	r.Done, r.Total, r.ETASeconds = build.Done, build.Total, build.ETASeconds
	if *state != IndexBuilding {
		r.State, r.Done, r.ETASeconds = ReindexDone, r.Total, nil
	}
	return r, nil
}

// BuildProgress is the progress of the build of an index, in nodes of all workspaces.
type BuildProgress struct {
	Done, Total int64
	ETASeconds  *float64 // nil: not known yet
}

// BuildProgress returns the progress of the build of an index.
func (db *Store) BuildProgress(ctx context.Context, index uuid.UUID) (BuildProgress, error) {
	var (
		p      BuildProgress
		before int64
		ran    float64
	)
	err := db.pool.QueryRow(ctx, `SELECT
			COALESCE((SELECT sum(nodes) FROM embedding_progress WHERE index_id = $1), 0)::bigint,
			COALESCE((SELECT sum(t.standing) FROM graph_totals t JOIN workspaces w ON w.id = t.workspace_id WHERE t.kind = 1
			AND w.deleted_at IS NULL), 0)::bigint,
			i.began_done, COALESCE(EXTRACT(EPOCH FROM now() - i.began_at), 0)::float8
		FROM search_indexes i WHERE i.id = $1`, index).Scan(&p.Done, &p.Total, &before, &ran)
	if isNoRows(err) {
		return p, nil
	}
	if err != nil {
		return p, postgres.Classify(fmt.Errorf("reading the progress of an index: %w", err))
	}
	p.Done = min(p.Done, p.Total)
	if built := p.Done - before; built > 0 && ran > 0 {
		remaining := float64(p.Total-p.Done) * ran / float64(built)
		p.ETASeconds = &remaining
	}
	return p, nil
}
