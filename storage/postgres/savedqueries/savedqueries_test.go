package savedqueries_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/savedqueries"
	"github.com/livegraph/livegraph/test/pgtest"
)

func open(t *testing.T) (*pgtest.DB, uuid.UUID) {
	t.Helper()
	db := pgtest.Open(t)
	return db, pgtest.Workspace(t, db, "live").ID
}

func query(name string) *savedqueries.SavedQuery {
	return &savedqueries.SavedQuery{ID: uuid.Must(uuid.NewV7()), Name: name, Kind: "search", Request: `{"query":"a"}`}
}

// The limit holds if several queries are created at the same time.
func TestTheLimitIsExact(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	_, err := db.Pool().Exec(t.Context(), `INSERT INTO saved_queries (workspace_id, id, name, description, kind, request)
		SELECT $1, gen_random_uuid(), 'q' || n, '', 'search', '{}' FROM generate_series(1, $2) n`,
		workspace, savedqueries.MaxQueries-2)
	require.NoError(t, err)
	var created atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			_, err := db.CreateSavedQuery(context.Background(), workspace, query(fmt.Sprint("new", i)), nil)
			if err == nil {
				created.Add(1)
			} else {
				require.True(t, fault.Is(err, fault.Invalid), "%v", err)
			}
		})
	}
	all.Wait()
	require.EqualValues(t, 2, created.Load())
}

func TestADeletedQueryKeepsOnlyItsID(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	q := query("pumps")
	_, err := db.CreateSavedQuery(t.Context(), workspace, q, nil)
	require.NoError(t, err)
	require.NoError(t, db.DeleteSavedQuery(t.Context(), workspace, q.ID))
	require.True(t, fault.Is(db.DeleteSavedQuery(t.Context(), workspace, q.ID), fault.NotFound))
	var texts string
	require.NoError(t, db.Pool().QueryRow(t.Context(), `SELECT name || description || request FROM saved_queries
		WHERE workspace_id = $1 AND id = $2`, workspace, q.ID).Scan(&texts))
	require.Empty(t, texts)
	_, err = db.CreateSavedQuery(t.Context(), workspace, q, nil)
	require.True(t, fault.Is(err, fault.Conflict), "%v", err)
}

// What is stored for an idempotency key is stored with the change, or neither is.
func TestAChangeIsNotMadeIfItsResponseIsNotStored(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	failure := errors.New("no")
	response := &savedqueries.Response{Encode: func(savedqueries.SavedQuery) ([]byte, error) { return nil, failure }}
	q := query("pumps")
	_, err := db.CreateSavedQuery(t.Context(), workspace, q, response)
	require.ErrorIs(t, err, failure)
	_, err = db.SavedQuery(t.Context(), workspace, q.ID)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	_, err = db.CreateSavedQuery(t.Context(), workspace, q, nil)
	require.NoError(t, err)
	rename := func(q *savedqueries.SavedQuery) error { q.Name = "fans"; return nil }
	_, err = db.UpdateSavedQuery(t.Context(), workspace, q.ID, nil, rename, response)
	require.ErrorIs(t, err, failure)
	read, err := db.SavedQuery(t.Context(), workspace, q.ID)
	require.NoError(t, err)
	require.Equal(t, []any{"pumps", int64(1)}, []any{read.Name, read.Version})
}

func TestNoQueryIsSavedInADeletedWorkspace(t *testing.T) {
	t.Parallel()
	db, workspace := open(t)
	_, err := db.CreateSavedQuery(t.Context(), workspace, query("pumps"), nil)
	require.NoError(t, err)
	require.NoError(t, db.DeleteWorkspace(t.Context(), workspace, "req_1"))
	_, err = db.CreateSavedQuery(t.Context(), workspace, query("fans"), nil)
	require.True(t, fault.Is(err, fault.NotFound), "%v", err)
	require.NoError(t, db.EraseWorkspace(t.Context(), workspace, func(int64) error { return nil }))
	var left int
	require.NoError(t, db.Pool().QueryRow(t.Context(), `SELECT count(*) FROM saved_queries WHERE workspace_id = $1`,
		workspace).Scan(&left))
	require.Zero(t, left)
}
