package pgtest

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/storage/postgres/stores"
	"github.com/livegraph/livegraph/test/testenv"
)

// OpenAt opens and migrates the database at a URL, and closes it with the test.
func OpenAt(t testing.TB, url string) *DB {
	t.Helper()
	db, err := Connect(t.Context(), url, 4)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(t.Context()))
	return db
}

// Migrated returns the URL of an empty database with all migrations.
func Migrated(t testing.TB) string {
	t.Helper()
	return testenv.MigratedPostgres(t, func(ctx context.Context, address string) error {
		db, err := stores.Open(ctx, address, 1)
		if err != nil {
			return err
		}
		defer db.Close()
		return db.Migrate(ctx)
	})
}

// Open opens a migrated database that belongs to the test.
func Open(t *testing.T) *DB {
	t.Helper()
	return OpenAt(t, Migrated(t))
}

// Workspace creates a workspace of plan starter.
func Workspace(t *testing.T, db *DB, mode string) access.Workspace {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{Name: "plant", Plan: "starter", Mode: mode})
	require.NoError(t, err)
	return w
}

// Ptr returns a pointer to a copy of a value.
func Ptr[T any](v T) *T { return &v }

// LimitedWorkspace creates a workspace with limits of sources and series.
func LimitedWorkspace(t *testing.T, db *DB, sources, series int64) uuid.UUID {
	t.Helper()
	w, err := db.CreateWorkspace(t.Context(), access.Workspace{
		Name: "plant", Plan: "starter", Mode: "live", MaxSources: sources, MaxSeries: series})
	require.NoError(t, err)
	return w.ID
}
