package contract_test

import (
	"fmt"
	"net/http"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/api/route"
	"github.com/livegraph/livegraph/storage/kafka"
	"github.com/livegraph/livegraph/test/contract"
)

// whole is a server with every route of the interface and those of the tests, and a little
// of everything behind it.
type whole struct {
	*writer
	live *live
	conn *pgx.Conn // to its Postgres

	source     source // that stands
	gone       source // that was deleted
	node, edge string
}

func startWhole(t *testing.T) *whole {
	t.Helper()
	points, commands := &contract.LiveData{}, &contract.Commands{}
	search := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		return (&contract.Search{Unindexed: true, Points: points.Points}).Group(t, s)
	}
	s := contract.Start(
		t, points.Group, commands.Group, contract.GraphReads, search, (&contract.Audit{}).Group, testRoutes,
	)
	w := &whole{writer: &writer{Server: s, Commands: commands}, live: &live{Server: s, LiveData: points}}
	var err error
	w.conn, err = pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.conn.Close(t.Context()) })

	w.source, w.gone = w.live.createSource(t, `{"name":"boiler"}`), w.live.createSource(t, `{"name":"gone"}`)
	require.Equal(
		t, http.StatusNoContent,
		s.Do(t, contract.Request{Method: http.MethodDelete, Path: sourcesPath + "/" + w.gone.ID}).Status,
	)
	require.Eventually(t, func() bool { // until the log has been told
		var pending int
		return w.conn.QueryRow(t.Context(), `SELECT count(*) FROM pending_deletions`).Scan(&pending) == nil && pending == 0
	}, 20*time.Second, 10*time.Millisecond)
	w.live.store(
		t, s.Workspace, seriesKey{source: w.source.ID, metric: "temp", tags: map[string]string{"room": "A"}},
		sample{at(0), 1.0, 1},
	)
	w.node = w.writer.node(t, "a")
	w.edge = w.writer.edge(t, w.node, w.node)
	return w
}

// kept are the tables in which a request that is refused may leave something: what came of
// a command, how far the log is read, what a key of idempotency stands for, and who works
// at what.
var kept = []string{"command_outcomes", "command_offsets", "idempotency_keys", "leases", "route_leases"}

// standing returns what the stores have of everything that a refused request must not change:
// a digest of each table of Postgres, and where the topic of points ends.
func (w *whole) standing(t *testing.T) map[string]string {
	t.Helper()
	rows, err := w.conn.Query(
		t.Context(),
		`SELECT table_name FROM information_schema.tables WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`,
	)
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, tables, "journal")
	all := map[string]string{}
	for _, table := range tables {
		if slices.Contains(kept, table) {
			continue
		}
		from := pgx.Identifier{table}.Sanitize() + ` t`
		if table == "watermarks" { // those of uses go on: what is refused is noted, too
			topic := w.live.Log.PointsTopic().ID
			from += fmt.Sprintf(` WHERE topic_id = '\x%x'`, topic[:])
		}
		var digest string
		require.NoError(
			t,
			w.conn.QueryRow(t.Context(), `SELECT count(*) || ' ' || coalesce(md5(string_agg(row, ' ' ORDER BY row)), '')
			FROM (SELECT (to_jsonb(t) - '{last_used_at,last_used_ip}'::text[])::text AS row FROM `+from+`) r`).Scan(&digest),
		)
		all[table] = digest
	}
	for _, topic := range []string{kafka.TopicPoints, kafka.TopicEvents} {
		state, err := w.live.Log.ObserveTopic(t.Context(), topic)
		require.NoError(t, err)
		all["topic "+topic] = fmt.Sprintf("%+v", state.State)
	}
	return all
}

// footprint is what a process holds: goroutines, and bytes of the heap.
type footprint struct {
	goroutines int
	heap       int64
}

func measured() footprint {
	for range 3 { // pools let go of what two collections found unused
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), int64(m.HeapAlloc)}
}

// requireNoMoreThan waits until the process holds no more than it did, except for a little.
func requireNoMoreThan(t *testing.T, before footprint) {
	t.Helper()
	const goroutines, heap = 40, 48 << 20
	var now footprint
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if now = measured(); now.goroutines <= before.goroutines+goroutines && now.heap <= before.heap+heap {
			return
		}
	}
	t.Fatalf("before %+v, after %+v", before, now)
}

// counted returns the sum of a counter of the server, of those with the label's value or, with
// no label, of all.
func counted(t *testing.T, registry *prometheus.Registry, name, label, value string) (sum float64) {
	t.Helper()
	families, err := registry.Gather()
	require.NoError(t, err)
	found := false
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			found = true
			for _, l := range metric.GetLabel() {
				if l.GetName() == label && l.GetValue() == value {
					sum += metric.GetCounter().GetValue()
				}
			}
			if label == "" {
				sum += metric.GetCounter().GetValue()
			}
		}
	}
	require.True(t, found, name)
	return sum
}

// requireNoFailureOfOurs checks that nothing panicked, and that nothing was answered 500.
func (w *whole) requireNoFailureOfOurs(t *testing.T) {
	t.Helper()
	require.Zero(t, counted(t, w.Metrics, "livegraph_http_panics_total", "", ""))
	require.Zero(t, counted(t, w.Metrics, "livegraph_http_requests_total", "status", "500"))
	require.Equal(
		t, http.StatusOK, w.Do(t, contract.Request{Path: "/readyz", Key: contract.None, Workspace: contract.None}).Status,
	)
}

// unknownID is of nothing.
func unknownID() string { return uuid.NewString() }
