package textindex_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/pgtest"
)

// graphFixture is a database with workspaces, and a connection for queries on its tables.
type graphFixture struct {
	db   *pgtest.DB
	conn *pgx.Conn
}

func newGraphFixture(t testing.TB) *graphFixture {
	t.Helper()
	url := pgtest.Migrated(t)
	db := pgtest.OpenAt(t, url)
	conn, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return &graphFixture{db: db, conn: conn}
}

func (w *graphFixture) workspace(t require.TestingT) uuid.UUID {
	created, err := w.db.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(t, err)
	return created.ID
}

// withoutChampions returns the same database with separate caches, which is searched as if no
// champion list was filled.
func withoutChampions(db *pgtest.DB) *pgtest.DB {
	other := pgtest.FromPool(db.Pool())
	other.Texts = db.WithoutChampions()
	return other
}
