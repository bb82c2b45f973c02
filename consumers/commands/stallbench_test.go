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
	"github.com/livegraph/livegraph/test/kafkatest"
)

const (
	benchHubEdges   = 100_000 // unless LIVEGRAPH_BENCH_HUB_EDGES is set
	benchWorkspaces = 4       // workspaces of each kind, each with one caller
	benchQuiet      = 10 * time.Second
	benchPause      = 20 * time.Millisecond // between the commands of a caller
)

// BenchmarkOthersWhileAHubIsDeletedAndUndone measures the latency of the commands of other
// workspaces, in the hub's partition and in others, before and while a hub is deleted and
// restored.
func BenchmarkOthersWhileAHubIsDeletedAndUndone(b *testing.B) {
	edges := benchHubEdges
	if text := os.Getenv("LIVEGRAPH_BENCH_HUB_EDGES"); text != "" {
		var err error
		edges, err = strconv.Atoi(text)
		require.NoError(b, err)
	}
	f := newFixture(b, kafkatest.NewKFake(b))
	f.consume()
	hub := f.createHub(edges)
	var same, apart []*fixture
	for range benchWorkspaces {
		same = append(same, f.withWorkspace(f.workspaceBeside(f.workspace, true)))
		apart = append(apart, f.withWorkspace(f.workspaceBeside(f.workspace, false)))
	}
	measure := func(when string, work func()) {
		var stop atomic.Bool
		var wait sync.WaitGroup
		took := [2][]time.Duration{}
		var mu sync.Mutex
		for kind, fixtures := range [][]*fixture{same, apart} {
			for _, other := range fixtures {
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
		measure("deleted", func() { f.doLong(graph.DeleteNode{ID: hub.ID}) })
		measure("undone", func() { f.doLong(graph.Undo{}) })
	}
}

// doLong is do for a command that takes minutes.
func (f *fixture) doLong(p graph.Payload) {
	f.tb.Helper()
	r := f.request(graphrecord.Single, p)
	f.produce(r)
	require.Eventually(f.tb, func() bool { return f.stored(r) != nil }, 15*time.Minute, 50*time.Millisecond)
	require.Nil(f.tb, f.stored(r).GetFailure())
}
