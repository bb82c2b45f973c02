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

// environment is a server with every route of the API and the test routes, and with some data
// of each kind.
type environment struct {
	*writer
	live *live
	conn *pgx.Conn // to its Postgres

	source     source // that exists
	gone       source // that was deleted
	node, edge string
}

func startEnvironment(t *testing.T) *environment {
	t.Helper()
	points, commands := &contract.LiveData{}, &contract.Commands{}
	search := func(t testing.TB, s *contract.Server) []route.Route {
		t.Helper()
		return (&contract.Search{WithoutIndexes: true, Points: points.Points}).Group(t, s)
	}
	s := contract.Start(
		t, points.Group, commands.Group, contract.GraphReads, search, (&contract.Audit{}).Group, contract.MCP,
		contract.Webhooks, contract.Analyses, testRoutes,
	)
	w := &environment{writer: &writer{Server: s, Commands: commands}, live: &live{Server: s, LiveData: points}}
	var err error
	w.conn, err = pgx.Connect(t.Context(), s.Postgres)
	require.NoError(t, err)
	t.Cleanup(func() { _ = w.conn.Close(t.Context()) })

	w.source, w.gone = w.live.createSource(t, `{"name":"boiler"}`), w.live.createSource(t, `{"name":"gone"}`)
	require.Equal(
		t, http.StatusNoContent,
		s.Do(t, contract.Request{Method: http.MethodDelete, Path: sourcesPath + "/" + w.gone.ID}).Status,
	)
	require.Eventually(t, func() bool { // until the deletion is in the log
		var pending int
		return w.conn.QueryRow(t.Context(), `SELECT count(*) FROM pending_deletions`).Scan(&pending) == nil && pending == 0
	}, time.Minute, 10*time.Millisecond)
	w.live.store(
		t, s.Workspace, seriesKey{source: w.source.ID, metric: "temp", tags: map[string]string{"room": "A"}},
		sample{microsAt(0), 1.0, 1},
	)
	w.node = w.newNode(t, "a")
	w.edge = w.newEdge(t, w.node, w.node)
	return w
}

// mutableTables are the tables that a refused request may change: outcomes of commands,
// offsets of the log, idempotency keys, and leases.
var mutableTables = []string{"command_outcomes", "command_offsets", "idempotency_keys", "leases", "route_leases"}

// snapshot returns the state that a refused request must not change: a digest of each other
// table of Postgres, and the states of the topics of points and of events.
func (w *environment) snapshot(t *testing.T) map[string]string {
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
		if slices.Contains(mutableTables, table) {
			continue
		}
		from := pgx.Identifier{table}.Sanitize() + ` t`
		if table == "watermarks" { // those of audit records advance: refused requests are recorded, too
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

// footprint contains the number of goroutines and the bytes of the heap of the process.
type footprint struct {
	goroutines int
	heap       int64
}

func measureFootprint() footprint {
	for range 3 { // pools release what was unused in two collections
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return footprint{runtime.NumGoroutine(), int64(m.HeapAlloc)}
}

// requireNoMoreThan waits until the footprint of the process is at most slightly larger than before.
func requireNoMoreThan(t *testing.T, before footprint) {
	t.Helper()
	const goroutines, heap = 40, 48 << 20
	var now footprint
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if now = measureFootprint(); now.goroutines <= before.goroutines+goroutines && now.heap <= before.heap+heap {
			return
		}
	}
	t.Fatalf("before %+v, after %+v", before, now)
}

// counterSum returns the sum of the series of a counter that have the label's value, or of all
// its series if label is empty.
func counterSum(t *testing.T, registry *prometheus.Registry, name, label, value string) (sum float64) {
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

// requireNoServerErrors checks that there was no panic and no answer with status 500.
func (w *environment) requireNoServerErrors(t *testing.T) {
	t.Helper()
	require.Zero(t, counterSum(t, w.Metrics, "livegraph_http_panics_total", "", ""))
	require.Zero(t, counterSum(t, w.Metrics, "livegraph_http_requests_total", "status", "500"))
	require.Equal(
		t, http.StatusOK, w.Do(t, contract.Request{Path: "/readyz", Key: contract.None, Workspace: contract.None}).Status,
	)
}

// unknownID returns an id that nothing has.
func unknownID() string { return uuid.NewString() }
