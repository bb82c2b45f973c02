package postgres_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/testenv"
	"github.com/livegraph/livegraph/storage/postgres"
)

// TestSeriesAreFoundWithoutStatistics: right after many series are registered
// Postgres knows nothing of how many they are. A query for one source must not
// read those of all.
func TestSeriesAreFoundWithoutStatistics(t *testing.T) {
	const sources, each, calls = 50, 40, 20
	address := testenv.Postgres(t)
	db, err := postgres.Open(t.Context(), address, 1)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()))
	ws := limited(t, db, sources, sources*each)
	for i := range sources {
		src := source(t, db, ws, fmt.Sprint("pump-", i))
		idents, prints := identities(ws, src.ID, 0, each)
		_, _, err := db.RegisterSeries(t.Context(), ws, idents, prints)
		require.NoError(t, err)
	}
	db.Close() // a connection tells its statistics when it ends at the latest
	before := seriesRead(t, address)

	db, err = postgres.Open(t.Context(), address, 1)
	require.NoError(t, err)
	for range calls { // a driver and a server that keep plans do so after five
		filter := postgres.SeriesFilter{Sources: []uuid.UUID{uuid.New()}}
		_, total, _, err := db.Series(t.Context(), ws, filter, postgres.SeriesPage{Limit: 10})
		require.NoError(t, err)
		require.Zero(t, total)
		_, err = db.AllSeries(t.Context(), ws, filter, 10)
		require.NoError(t, err)
	}
	db.Close()
	require.Less(t, seriesRead(t, address)-before, int64(sources*each), "rows of table series that were looked at")
}

// TestSeriesAreRegisteredWithoutStatistics: each batch of new series must not read
// all that are there.
func TestSeriesAreRegisteredWithoutStatistics(t *testing.T) {
	const batches, each = 20, 100
	address := testenv.Postgres(t)
	db, err := postgres.Open(t.Context(), address, 1)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()))
	ws := limited(t, db, 1, batches*each)
	src := source(t, db, ws, "pump")
	db.Close()
	before := seriesRead(t, address)

	db, err = postgres.Open(t.Context(), address, 1)
	require.NoError(t, err)
	for i := range batches {
		idents, prints := identities(ws, src.ID, i*each, (i+1)*each)
		_, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
		require.NoError(t, err)
		require.NotContains(t, ok, false)
	}
	db.Close()
	require.Less(t, seriesRead(t, address)-before, int64(5*batches*each), "rows of table series that were looked at")
}

// seriesRead gives how many rows of table series have been read by all sessions
// that have ended.
func seriesRead(t *testing.T, address string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var alone bool
	require.Eventually(t, func() bool {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) = 1 FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend'`).Scan(&alone))
		return alone
	}, 10*time.Second, 20*time.Millisecond)
	var read int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT sum(idx_tup_read)::bigint
		+ (SELECT seq_tup_read FROM pg_stat_all_tables WHERE relname = 'series')
		FROM pg_stat_all_indexes WHERE relname = 'series'`).Scan(&read))
	return read
}
