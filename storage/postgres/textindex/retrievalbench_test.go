package textindex_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/retrieval"
	"github.com/livegraph/livegraph/internal/retrieval/embed"
	dataset "github.com/livegraph/livegraph/test/bench/retrieval"
	"github.com/livegraph/livegraph/test/graphdata"
	"github.com/livegraph/livegraph/test/pgtest"
	"github.com/livegraph/livegraph/test/testenv"
)

// reportTimes reports percentiles of times.
func reportTimes(b *testing.B, name string, times []time.Duration) {
	b.Helper()
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)/2].Microseconds())/1000, name+"-p50-ms")
	b.ReportMetric(float64(times[int(0.95*float64(len(times)-1))].Microseconds())/1000, name+"-p95-ms")
}

// BenchmarkRetrieval runs the 2Wiki questions. Text search, names and walk use Postgres, the vectors of
// the static model are in memory.
func BenchmarkRetrieval(b *testing.B) {
	url := testenv.Postgres(b)
	db := pgtest.OpenAt(b, url)
	ws := uuid.New()
	require.NoError(b, db.Exec(
		b.Context(), `INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'wiki', 'enterprise', 'live')`, ws,
	))
	var list []uuid.UUID
	nodes := map[uuid.UUID]graph.Node{}
	data := dataset.Read(b)
	for _, p := range data.Passages {
		n := graph.Node{ID: uuid.New(), Name: p.Title, EntityType: graph.Concept, Description: &p.Text}
		list = append(list, n.ID)
		nodes[n.ID] = n
	}
	conn, err := pgx.Connect(b.Context(), url)
	require.NoError(b, err)
	defer func() { _ = conn.Close(b.Context()) }()
	batch := &pgx.Batch{}
	for _, id := range list {
		batch.Queue(
			`INSERT INTO nodes (workspace_id, id, name, entity_type, description, created_at, updated_at, version, changed_by,
				created_by)
			VALUES ($1, $2, $3, 'concept', $4, now(), now(), 1, 1, 1)`, ws, id, nodes[id].Name, nodes[id].Description,
		)
	}
	for _, m := range data.Mentions {
		batch.Queue(
			`INSERT INTO edges (workspace_id, id, source_id, target_id, relation_type, created_at, updated_at, version,
				changed_by, created_by, newest)
			VALUES ($1, $2, $3, $4, 'mentions', now(), now(), 1, 1, 1, 1)`, ws, uuid.New(), list[m[0]], list[m[1]],
		)
	}
	require.NoError(b, conn.SendBatch(b.Context(), batch).Close())
	l := newLanes(b, db)
	l.index(b, ws, nodes)
	require.NoError(b, db.Exec(b.Context(), `VACUUM ANALYZE`))
	lanes := map[string][]time.Duration{}
	var mutex sync.Mutex
	l.observe = func(lane string, took time.Duration, _ error) {
		mutex.Lock()
		defer mutex.Unlock()
		lanes[lane] = append(lanes[lane], took)
	}
	e := l.engine()

	recall := func(k int, hits []retrieval.Hit, gold []string) (found float64) {
		for _, title := range gold {
			if slices.ContainsFunc(hits[:min(k, len(hits))], func(h retrieval.Hit) bool { return h.Node.Name == title }) {
				found += 100 / float64(len(gold)*len(data.Questions))
			}
		}
		return found
	}
	for b.Loop() {
		var search, hybrid []time.Duration
		sums := map[string]float64{}
		for _, q := range data.Questions {
			query := retrieval.Query{Workspace: ws, Text: q.Question, Limit: 10}
			began := time.Now()
			s, err := e.Search(b.Context(), query)
			search = append(search, time.Since(began))
			require.NoError(b, err)
			began = time.Now()
			h, err := e.Hybrid(b.Context(), retrieval.HybridQuery{
				Query: query, Hops: 2, Direction: retrieval.AnyDirection, Weights: retrieval.DefaultWeights(),
			})
			hybrid = append(hybrid, time.Since(began))
			require.NoError(b, err)
			sums["search-R@2"] += recall(2, s.Hits, q.Gold)
			sums["search-R@5"] += recall(5, s.Hits, q.Gold)
			sums["hybrid-R@2"] += recall(2, h.Hits, q.Gold)
			sums["hybrid-R@5"] += recall(5, h.Hits, q.Gold)
		}
		for name, sum := range sums {
			b.ReportMetric(sum, name)
		}
		reportTimes(b, "search", search)
		reportTimes(b, "hybrid", hybrid)
	}
	for lane, times := range lanes {
		reportTimes(b, lane, times)
	}
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRetrievalLarge ranks nodes of a graph of 100,000 nodes and a million edges, a fiftieth of them
// of one node. Lanes and embedder cost almost nothing, so the time is that of Postgres and the ranking.
func BenchmarkRetrievalLarge(b *testing.B) {
	url := testenv.Postgres(b)
	db := pgtest.OpenAt(b, url)
	require.NoError(b, db.Exec(
		b.Context(), `INSERT INTO workspaces (id, name, plan, mode) VALUES ($1, 'large', 'enterprise', 'live')`,
		pgtest.GraphWorkspace,
	))
	conn, err := pgx.Connect(b.Context(), url)
	require.NoError(b, err)
	defer func() { _ = conn.Close(b.Context()) }()
	require.NoError(b, graphdata.Fill(b.Context(), conn, pgtest.GraphWorkspace, 100_000, 1_000_000))
	ids, err := db.Strings(
		b.Context(), `SELECT id::text FROM nodes WHERE workspace_id = $1 ORDER BY id`, pgtest.GraphWorkspace,
	)
	require.NoError(b, err)
	for _, hops := range []int{1, 2, 3} {
		for name, filter := range map[string]retrieval.Filter{"all": {}, "filtered": {EntityTypes: []string{
			"object", "process",
		}}} {
			b.Run(fmt.Sprintf("hops=%d/%s", hops, name), func(b *testing.B) {
				r := rand.New(rand.NewPCG(1, uint64(hops)))
				var times []time.Duration
				total, late := 0, 0
				for b.Loop() {
					l := &randomLanes{lanes: newLanes(b, db), seed: r.Uint64(), ids: ids}
					e := retrieval.New(retrieval.Deps{
						Text: l, Vectors: l, Graph: db, Embedder: embed.NewQueries(embed.QueryOptions{Embedder: &l.Static}),
					})
					began := time.Now()
					found, err := e.Hybrid(b.Context(), retrieval.HybridQuery{
						Query: retrieval.Query{Workspace: pgtest.GraphWorkspace, Text: "pump", Limit: 10, Filter: filter},
						Hops:  hops, Direction: retrieval.AnyDirection, Weights: retrieval.DefaultWeights(),
					})
					times = append(times, time.Since(began))
					require.NoError(b, err)
					late += len(found.Degraded)
					total += found.Total
				}
				reportTimes(b, "hybrid", times)
				b.ReportMetric(float64(total)/float64(len(times)), "candidates")
				b.ReportMetric(float64(late), "late")
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

var _ retrieval.Graph = (*pgtest.DB)(nil)
