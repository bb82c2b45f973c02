package bench

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/bench/record"
	"github.com/livegraph/livegraph/test/graphdata"
)

// readRounds is how often each list is read after the first time. Pages are read in sequence by
// cursor.
const readRounds = 40

// firstRounds is how often the matches of a broad filter are counted, without a cached count and after
// a change.
const firstRounds = 20

// graphReads are lists of the large graph. If first is set, reads that count the total are reported as
// well.
var graphReads = []struct {
	name, path string
	first      bool
}{
	{"fast/nodes-sorted", "nodes?sort=-updatedAt", false},
	{"fast/nodes-by-name", "nodes?sort=name", false},
	{"fast/edges-sorted", "edges?sort=version", false},
	{"fast/name", "nodes?name=c4ca42&sort=name", false},
	{"fast/property", "nodes?property.line=7&sort=-updatedAt", false},
	{"fast/edge-property", "edges?property.weight=77&sort=-createdAt", false},
	{"fast/times", "edges?createdAfter=2026-01-01T01:00:00Z&createdBefore=2026-01-01T01:00:20Z&sort=relationType", false},
	{"broad/name", "nodes?name=pump&sort=-updatedAt", true},
	{"broad/short-name", "nodes?name=zq", true},
	{"broad/property", "nodes?property.status=warn&property.status=fail&sort=-createdAt", true},
	{"broad/edge-property", "edges?property.kind=b&relationType=part_of&sort=version", true},
	{"broad/times", "edges?createdAfter=2026-01-01T01:20:00Z&sort=updatedAt", true},
	{"broad/two-fields", "edges?sort=relationType,-updatedAt", false},
	{"broad/three-fields", "edges?sort=-version,relationType,updatedAt", false},
	{"broad/offset", "edges?sort=-createdAt&offset=2500000", false},
}

// withoutSearch is all roles except for the one that builds search indexes. Indexing a graph of a
// million nodes takes minutes and would share the machine with the measurement.
var withoutSearch = []string{"--roles", "api,points,commands,audit"}

// BenchmarkGraphReads measures reads of a graph of a million nodes and five million edges through the
// API, with the default settings of the embedded Postgres.
func BenchmarkGraphReads(b *testing.B) {
	r := record.New(b)
	t := start(b, withoutSearch...)
	r.Engines(t.engines())
	r.Add("buffers", "MiB", float64(t.askPostgres("SELECT pg_size_bytes(current_setting('shared_buffers'))")>>20))
	r.Logf("creating %d nodes and %d edges", graphdata.LargeNodes, graphdata.LargeEdges)
	conn, err := pgx.Connect(b.Context(), t.RunFile().PostgresURL)
	require.NoError(b, err)
	require.NoError(b, graphdata.Fill(
		b.Context(), conn, uuid.MustParse(t.First.WorkspaceID), graphdata.LargeNodes, graphdata.LargeEdges,
	))
	require.NoError(b, conn.Close(b.Context()))

	for _, read := range graphReads {
		r.Logf("%s", read.path)
		r.Add(read.name+"/p95", "ms", p95(t.pages("/api/queries/"+read.path)))
		if read.first {
			r.Add(read.name+"/first", "ms", p95(t.firstPages("/api/queries/"+read.path)))
			r.Add(read.name+"/changed", "ms", p95(t.changedPages("/api/queries/"+read.path)))
		}
	}
	var hub, ordinary []struct{ ID string }
	t.Do(http.MethodGet, "/api/queries/nodes?name="+url.QueryEscape(graphdata.Hub), nil, http.StatusOK, &hub)
	t.Do(http.MethodGet, "/api/queries/nodes?limit=100&offset=4242", nil, http.StatusOK, &ordinary)
	for depth := 1; depth <= 3; depth++ {
		r.Logf("neighbors, depth %d", depth)
		for name, nodes := range map[string][]struct{ ID string }{"hub": hub, "ordinary": ordinary} {
			var times []float64
			for n := range readRounds {
				began := time.Now()
				t.Do(
					http.MethodGet, fmt.Sprintf("/api/queries/nodes/%s/neighbors?depth=%d", nodes[n%len(nodes)].ID, depth), nil,
					http.StatusOK, nil,
				)
				times = append(times, time.Since(began).Seconds()*1000)
			}
			r.Add(fmt.Sprintf("neighbors=%s/depth=%d/p95", name, depth), "ms", p95(times))
		}
	}
	r.Save()
}

// firstPages reads the first page of a list, each time with a different bound that everything matches,
// so that no count is cached.
func (t *target) firstPages(path string) (times []float64) {
	for n := range firstRounds {
		began := time.Now()
		t.Do(http.MethodGet, fmt.Sprintf("%s&updatedBefore=2041-01-01T00:00:%02dZ", path, n), nil, http.StatusOK, nil)
		times = append(times, time.Since(began).Seconds()*1000)
	}
	return times
}

// changedPages reads the first page of a list, each time after creating two nodes and an edge, so that
// changed parts are counted again.
func (t *target) changedPages(path string) (times []float64) {
	for n := range firstRounds + 1 {
		from, to := uuid.New(), uuid.New()
		for _, c := range []command{
			createNode(from, "Another pump", ""), createNode(to, "Another", ""),
			{"CREATE_EDGE", map[string]any{
				"id": uuid.New(), "sourceId": from, "targetId": to, "relationType": "part_of",
				"properties": map[string]any{"kind": "b"},
			}},
		} {
			t.Do(http.MethodPost, "/api/commands/execute", c, http.StatusCreated, nil)
		}
		began := time.Now()
		t.Do(http.MethodGet, path, nil, http.StatusOK, nil)
		if n > 0 { // the first counts page ranges that later ones reuse
			times = append(times, time.Since(began).Seconds()*1000)
		}
	}
	return times
}

// pages reads the pages of a list in sequence, from the first one again after the last, and returns
// the time of each except for the first, in milliseconds.
func (t *target) pages(path string) (times []float64) {
	next := path
	for n := range readRounds + 1 {
		began := time.Now()
		a, err := t.Try(http.MethodGet, next, nil)
		took := time.Since(began).Seconds() * 1000
		require.NoError(t.b, err)
		require.Equal(t.b, http.StatusOK, a.Status, next)
		if n > 0 {
			times = append(times, took)
		}
		if next = path; a.Meta.NextCursor != "" && !strings.Contains(path, "offset=") {
			next = path + "&cursor=" + a.Meta.NextCursor
		}
	}
	return times
}

func p95(times []float64) float64 {
	slices.Sort(times)
	return times[len(times)*95/100]
}
