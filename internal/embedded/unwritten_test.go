package embedded_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

const unwrittenTable = `CREATE TABLE facts (id UInt64, text String, version UInt64,
	INDEX by_text text TYPE bloom_filter GRANULARITY 1)
	ENGINE = ReplacingMergeTree(version) ORDER BY id`

// limitFileSize limits the size of the files that a process writes. Writes beyond the limit fail, as
// on a full disk.
func limitFileSize(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	require.NoError(t, unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}, nil))
}

// chdb ignores failed writes. Even so, all rows of acknowledged INSERTs must be stored and readable,
// also after a merge.
func TestNothingIsAcknowledgedThatClickHouseCouldNotWrite(t *testing.T) {
	engine := startClickHouse(t)
	conn := open(t, engine.Address())
	require.NoError(t, conn.Exec(t.Context(), unwrittenTable))

	const rows = 2000
	acknowledged := 0
	insert := func() error {
		err := conn.Exec(t.Context(), fmt.Sprintf(
			`INSERT INTO facts SELECT number + %d, 'text ' || toString(rand64()), 1 FROM numbers(%d)`, acknowledged, rows,
		))
		if err == nil {
			acknowledged += rows
		}
		return err
	}
	statement := func(text string) func() error {
		return func() error { return conn.Exec(t.Context(), text) }
	}
	merge := statement("OPTIMIZE TABLE facts FINAL")
	mutate := statement("ALTER TABLE facts UPDATE text = text || '!' WHERE 1 SETTINGS mutations_sync = 1")
	for name, c := range map[string]struct {
		work  func() error
		limit uint64 // with 512 bytes the file list of a part is complete, but not its data
	}{
		"an INSERT": {insert, 512}, "an INSERT, not a byte": {insert, 0},
		"a merge": {merge, 512}, "a merge, not a byte": {merge, 0},
		"a mutation": {mutate, 512}, "a mutation, not a byte": {mutate, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for range 3 {
				require.NoError(t, insert())
			}
			restarts := engine.Restarts()
			limitFileSize(t, engine.PID(), c.limit)
			require.Error(t, c.work(), "acknowledged, and not written")
			require.Eventually(t, func() bool {
				return engine.Restarts() > restarts && conn.Ping(t.Context()) == nil
			}, time.Minute, 50*time.Millisecond)
			var count, texts uint64
			require.NoError(
				t, conn.QueryRow(t.Context(), "SELECT count(), uniqExact(text) FROM facts FINAL").Scan(&count, &texts),
			)
			require.EqualValues(t, acknowledged, count)
			require.EqualValues(t, acknowledged, texts)
			require.NoError(t, c.work(), "once there is room again")
		})
	}
}
