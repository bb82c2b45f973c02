package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/testenv"
)

// shardSources is the number of sources whose points are divided among shards.
const shardSources = 8

// TestTheServiceRunsOnShards writes points to a ClickHouse of two shards, kills the service, and runs replays.
// A backup of it is restored to a ClickHouse without shards.
func TestTheServiceRunsOnShards(t *testing.T) {
	testenv.RequireFull(t)
	t.Parallel()
	s := newServer(t)
	s.Env = append(s.Env, "LIVEGRAPH_EMBEDDED_CLICKHOUSE_SHARDS=2")
	s.Start()
	var sources []string
	for range shardSources {
		source := s.createSource("mill" + strings.Repeat("s", len(sources)))
		s.totals(source, map[string][]string{"checkpoint": {s.ingest(source, 0, 20)}})
		sources = append(sources, source)
	}
	require.Equal(t, "2", s.AskClickHouse("SELECT uniq(_shard_num) FROM points"))
	require.Equal(t, "1", s.AskClickHouse("SELECT max(n) FROM (SELECT uniq(_shard_num) AS n FROM points GROUP BY series)"))
	require.Contains(t, s.CLI("doctor"), "clickhouse")

	before := s.storedPoints()
	s.Kill()
	s.Start()
	require.Equal(t, before, s.storedPoints())
	require.Equal(t, "done", s.replay("--from-start").State)
	require.Equal(t, before, s.storedPoints())
	var sum float64
	for i := range 20 {
		sum += batch{i}.sum()
	}
	for _, source := range sources {
		s.requireTotals(source, 20*pointsInBatch, sum)
	}

	s.Do("DELETE", "/api/live-data/sources/"+sources[0], nil, http.StatusNoContent, nil)
	s.waitDeleted(sources[0])
	before = s.storedPoints()
	dir := filepath.Join(t.TempDir(), "backup")
	s.CLI("backup", "--to", dir)
	one := newServer(t)
	one.First = s.First
	one.CLI("restore", "--from", dir)
	one.Start()
	require.Equal(t, before, one.storedPoints())
	one.requireTotals(sources[1], 20*pointsInBatch, sum)
}

// waitDeleted waits until the points of a source are removed from ClickHouse.
func (s *server) waitDeleted(source string) {
	s.t.Helper()
	require.Eventually(s.t, func() bool {
		return s.AskClickHouse("SELECT count() FROM latest WHERE source = '"+source+"'") == "0"
	}, time.Minute, 50*time.Millisecond)
}
