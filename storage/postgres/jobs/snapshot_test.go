package jobs_test

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/platform/fault"
	"github.com/livegraph/livegraph/storage/postgres/jobs"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestASnapshotIsConsistentAndHasAllTables checks that a snapshot does not see later writes,
// and that its tables are in order and without the excluded ones.
func TestASnapshotIsConsistentAndHasAllTables(t *testing.T) {
	db := pgtest.Open(t)
	_, err := db.Installation(t.Context())
	require.NoError(t, err)
	pgtest.Workspace(t, db, "live")
	err = db.Snapshot(t.Context(), func(s *jobs.Snapshot) error {
		pgtest.Workspace(t, db, "live") // while it is read
		tables, err := s.Tables(t.Context())
		require.NoError(t, err)
		place := func(name string) int {
			return slices.IndexFunc(tables, func(table jobs.Table) bool { return table.Name == name })
		}
		require.NotContains(t, tables[place("nodes")].Columns, "name_folded", "Postgres computes it")
		require.Less(t, place("workspaces"), place("api_key_workspaces"), "referenced tables come first")
		require.Less(t, place("sources"), place("series"))
		require.Equal(t, -1, place("leases"))
		var file bytes.Buffer
		rows, err := s.Copy(t.Context(), tables[place("workspaces")], &file)
		require.EqualValues(t, 1, rows)
		require.Equal(t, 1, bytes.Count(file.Bytes(), []byte("\n")))
		return err
	})
	require.NoError(t, err)
}

func TestASchemaOfANewerVersionIsRefused(t *testing.T) {
	url := testenv.Postgres(t)
	db, err := pgtest.Connect(t.Context(), url, 2)
	require.NoError(t, err)
	defer db.Close()
	require.NoError(t, db.Migrate(t.Context()))
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	_, err = conn.Exec(
		t.Context(),
		`INSERT INTO installation (fingerprint_key, checkpoint_key)
			VALUES (decode(repeat('00', 16), 'hex'), decode(repeat('00', 32), 'hex'))`,
	)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, true)`)
	require.NoError(t, err)
	err = db.Migrate(t.Context())
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, "the schema of Postgres is of a newer version of Livegraph (migration 9999")
	err = db.Snapshot(t.Context(), func(*jobs.Snapshot) error { return nil })
	require.True(t, fault.Is(err, fault.Invalid), "a backup would lack data that this version does not know: %v", err)
}

func TestABackupOfANewerVersionIsRefused(t *testing.T) {
	db, err := pgtest.Connect(t.Context(), testenv.Postgres(t), 2)
	require.NoError(t, err)
	defer db.Close()
	err = db.BeginRestore(t.Context(), math.MaxInt64-1)
	require.True(t, fault.Is(err, fault.Invalid), "%v", err)
	require.ErrorContains(t, err, "it was made by a newer version of Livegraph")
	require.NoError(t, db.Migrate(t.Context()), "nothing was marked")
}
