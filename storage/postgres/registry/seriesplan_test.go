package registry_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/schemas/pointblock"
	"github.com/livegraph/livegraph/storage/postgres/registry"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// TestSeriesAreFoundWithoutStatistics queries one source right after many series are
// registered, when Postgres has no statistics of them. The query must not read the series
// of all sources.
func TestSeriesAreFoundWithoutStatistics(t *testing.T) {
	const sources, each, calls = 50, 40, 20
	address := testenv.Postgres(t)
	db, err := pgtest.Connect(t.Context(), address, 1)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()))
	ws := pgtest.LimitedWorkspace(t, db, sources, sources*each)
	for i := range sources {
		src := source(t, db, ws, fmt.Sprint("pump-", i))
		idents, prints := identities(ws, src.ID, 0, each)
		_, _, err := db.RegisterSeries(t.Context(), ws, idents, prints)
		require.NoError(t, err)
	}
	db.Close() // a connection reports its statistics when it ends at the latest
	before := seriesRead(t, address)

	db, err = pgtest.Connect(t.Context(), address, 1)
	require.NoError(t, err)
	for range calls { // a driver or a server may cache a plan after five executions
		filter := registry.SeriesFilter{Sources: []uuid.UUID{uuid.New()}}
		_, total, _, err := db.Series(t.Context(), ws, filter, registry.SeriesPage{Limit: 10})
		require.NoError(t, err)
		require.Zero(t, total)
		_, err = db.AllSeries(t.Context(), ws, filter, 10)
		require.NoError(t, err)
	}
	db.Close()
	require.Less(t, seriesRead(t, address)-before, int64(sources*each), "rows of table series that were read")
}

// TestSeriesAreRegisteredWithoutStatistics checks that a batch of new series does not read
// all existing ones.
func TestSeriesAreRegisteredWithoutStatistics(t *testing.T) {
	const batches, each = 20, 100
	address := testenv.Postgres(t)
	db, err := pgtest.Connect(t.Context(), address, 1)
	require.NoError(t, err)
	require.NoError(t, db.Migrate(t.Context()))
	ws := pgtest.LimitedWorkspace(t, db, 1, batches*each)
	src := source(t, db, ws, "pump")
	db.Close()
	before := seriesRead(t, address)

	db, err = pgtest.Connect(t.Context(), address, 1)
	require.NoError(t, err)
	for i := range batches {
		idents, prints := identities(ws, src.ID, i*each, (i+1)*each)
		_, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
		require.NoError(t, err)
		require.NotContains(t, ok, false)
	}
	db.Close()
	require.Less(t, seriesRead(t, address)-before, int64(5*batches*each), "rows of table series that were read")
}

// seriesRead returns the number of rows of table series that all ended sessions have read.
func seriesRead(t *testing.T, address string) int64 {
	t.Helper()
	return rowsRead(t, address, "series")
}

// rowsRead is seriesRead for any table.
func rowsRead(t *testing.T, address, table string) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	require.NoError(t, err)
	defer func() { _ = conn.Close(t.Context()) }()
	var alone bool
	require.Eventually(t, func() bool {
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) = 1 FROM pg_stat_activity
			WHERE datname = current_database() AND backend_type = 'client backend'`).Scan(&alone))
		return alone
	}, time.Minute, 20*time.Millisecond)
	var read int64
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT sum(idx_tup_read)::bigint
		+ (SELECT seq_tup_read FROM pg_stat_all_tables WHERE relname = $1)
		FROM pg_stat_all_indexes WHERE relname = $1`, table).Scan(&read))
	return read
}

// TestManyNewSourcesAndSeriesReadFewRows uses plans for many sources that a connection
// cached while there were few. Neither the look-ups of series and sources nor the checks of
// foreign keys may read all sources for each series, whenever statistics were gathered.
func TestManyNewSourcesAndSeriesReadFewRows(t *testing.T) {
	for name, gathered := range map[string]struct{ empty, few bool }{
		"never": {}, "while empty": {empty: true}, "while few": {few: true},
	} {
		t.Run(name, func(t *testing.T) {
			const few, many, each, chunk = 60, 2_000, 2, 200
			address := testenv.Postgres(t)
			db, err := pgtest.Connect(t.Context(), address, 1)
			require.NoError(t, err)
			require.NoError(t, db.Migrate(t.Context()))
			require.NoError(t, db.Exec(t.Context(), `ALTER TABLE sources SET (autovacuum_enabled = off)`))
			require.NoError(t, db.Exec(t.Context(), `ALTER TABLE series SET (autovacuum_enabled = off)`))
			ws, names := pgtest.LimitedWorkspace(t, db, few+many, (few+many)*each), namesOfSources(few+many)
			if gathered.empty {
				require.NoError(t, db.Exec(t.Context(), `ANALYZE`))
			}
			registerSources(t, db, ws, names[:few], chunk, each)
			if gathered.few {
				require.NoError(t, db.Exec(t.Context(), `ANALYZE`))
			}
			for i := range 10 { // a server may cache a plan after five executions
				registerSources(t, db, ws, names[i:i+1], chunk, each)
			}
			registerSources(t, db, ws, names[few:], chunk, each)
			db.Close()
			read := rowsRead(t, address, "sources") + rowsRead(t, address, "series")
			t.Logf("%d rows of sources and series were read", read)
			// At worst, looking up the names of a chunk scans the workspace's sources, three
			// times a chunk. Everything else reads a few rows each.
			require.Less(t, read, int64(3*(few+many)*(many/chunk)+30*many*each))
		})
	}
}

// registerSources creates sources with their own series, as ingest does.
func registerSources(t *testing.T, db *pgtest.DB, ws uuid.UUID, names []string, chunk, each int) {
	t.Helper()
	for some := range slices.Chunk(names, chunk) {
		created, err := db.CreateSources(t.Context(), ws, some, nil)
		require.NoError(t, err)
		require.Len(t, created, len(some))
		var idents []pointblock.Identity
		var prints []pointblock.Fingerprint
		for _, id := range created {
			ofSource, printsOfSource := identities(ws, id, 0, each)
			idents, prints = append(idents, ofSource...), append(prints, printsOfSource...)
		}
		for range 2 { // new, then existing
			_, ok, err := db.RegisterSeries(t.Context(), ws, idents, prints)
			require.NoError(t, err)
			require.NotContains(t, ok, false)
		}
		found, err := db.SourcesByID(t.Context(), ws, slices.Collect(maps.Values(created)))
		require.NoError(t, err)
		require.Len(t, found, len(some))
	}
}

// TestNamesBeyondTheLimitAreRefusedSoon checks that looking up 20,000 missing names does
// not compare each of them with all existing names.
func TestNamesBeyondTheLimitAreRefusedSoon(t *testing.T) {
	const limit, chunk, bound = 20_000, 4_000, 2 * time.Minute
	// It takes a second and a half, but many times the bound without plans for arguments.
	ctx, cancel := context.WithTimeout(t.Context(), bound)
	defer cancel()
	db, err := pgtest.Connect(ctx, testenv.Postgres(t), 1)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	require.NoError(t, db.Migrate(ctx))
	ws := pgtest.LimitedWorkspace(t, db, limit, 10)
	names := namesOfSources(2 * limit)
	for some := range slices.Chunk(names[:limit], chunk) {
		_, err := db.CreateSources(ctx, ws, some, nil)
		require.NoError(t, err)
	}
	for range 8 {
		found, err := db.SourcesByName(ctx, ws, names[limit:])
		require.NoError(t, err)
		require.Empty(t, found)
		created, err := db.CreateSources(ctx, ws, names[limit:], nil)
		require.NoError(t, err)
		require.Empty(t, created)
	}
}

func namesOfSources(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("a weather station with a long name %06d", i)
	}
	return names
}
