package textindex_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/storage/postgres/access"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// graphWorld is a database with workspaces, and a connection to look at its tables.
type graphWorld struct {
	db   *pgtest.DB
	look *pgx.Conn
}

func newGraphWorld(t testing.TB) *graphWorld {
	t.Helper()
	url := testenv.MigratedPostgres(t)
	db := pgtest.OpenAt(t, url)
	look, err := pgx.Connect(context.Background(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = look.Close(context.Background()) })
	return &graphWorld{db: db, look: look}
}

func (w *graphWorld) workspace(t require.TestingT) uuid.UUID {
	made, err := w.db.CreateWorkspace(context.Background(), access.Workspace{
		Name: "plant", Plan: "enterprise", Mode: "live",
	})
	require.NoError(t, err)
	return made.ID
}

// withoutChampions is the same database, with its own memories, searched as if no
// champion list were filled.
func withoutChampions(db *pgtest.DB) *pgtest.DB {
	other := pgtest.On(db.Pool())
	other.Texts = db.WithoutChampions()
	return other
}
