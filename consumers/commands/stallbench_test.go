package commands_test

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/graph"
	"github.com/livegraph/livegraph/internal/graph/graphrecord"
	"github.com/livegraph/livegraph/test/testenv"
)

const (
	benchHubEdges = 100_000 // LIVEGRAPH_BENCH_HUB_EDGES: another number
	benchOthers   = 4       // workspaces of each kind, each with one caller
	benchQuiet    = 10 * time.Second
	benchPause    = 20 * time.Millisecond // between the commands of a caller
)

// BenchmarkOthersWhileAHubIsDeletedAndUndone measures how long the commands of other
// workspaces take, of the hub's partition and of the others: before, and while a hub is
// deleted and brought back.
func BenchmarkOthersWhileAHubIsDeletedAndUndone(b *testing.B) {
	edges := benchHubEdges
	if text := os.Getenv("LIVEGRAPH_BENCH_HUB_EDGES"); text != "" {
		var err error
		edges, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	w := newWorld(b, testenv.NewKFake(b))
	w.consume()
	hub := w.hub(edges)
	var same, apart []*world
	for range benchOthers {
		same = append(same, w.in(w.neighbour(w.workspace, true)))
		apart = append(apart, w.in(w.neighbour(w.workspace, false)))
	}
	measure := func(when string, work func()) {
		var stop atomic.Bool
		var wait sync.WaitGroup
		took := [2][]time.Duration{}
		var mu sync.Mutex
		for kind, worlds := range [][]*world{same, apart} {
			for _, other := range worlds {
				wait.Go(func() {
					for !stop.Load() {
						began := time.Now()
						other.do(node("pump"))
						mu.Lock()
						took[kind] = append(took[kind], time.Since(began))
						mu.Unlock()
						time.Sleep(benchPause)
					}
				})
			}
		}
		began := time.Now()
		work()
		b.Logf("%s: %s", when, time.Since(began).Round(time.Millisecond))
		stop.Store(true)
		wait.Wait()
		for kind, name := range []string{"same", "apart"} {
			slices.Sort(took[kind])
			p99 := took[kind][len(took[kind])*99/100]
			b.ReportMetric(float64(p99.Microseconds())/1000, when+"-"+name+"-p99-ms")
			b.ReportMetric(float64(took[kind][len(took[kind])-1].Microseconds())/1000, when+"-"+name+"-max-ms")
		}
	}
	measure("quiet", func() { time.Sleep(benchQuiet) })
	for range b.N {
		measure("deleted", func() { w.doLong(graph.DeleteNode{ID: hub.ID}) })
		measure("undone", func() { w.doLong(graph.Undo{}) })
	}
}

// doLong is do for a command that takes minutes.
func (w *world) doLong(p graph.Payload) {
	w.tb.Helper()
	r := w.request(graphrecord.Single, p)
	w.produce(r)
	require.Eventually(w.tb, func() bool { return w.stored(r) != nil }, 15*time.Minute, 50*time.Millisecond)
	require.Nil(w.tb, w.stored(r).GetFailure())
}
