package demo

import (
	"context"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/demo/machine"
)

// nodeOf finds the node with a property's value.
func (g *peerGraph) nodeOf(property, value string) (peerNode, bool) {
	for _, n := range g.nodes {
		if n.property(property) == value {
			return n, true
		}
	}
	return peerNode{}, false
}

func TestTheMachineIsDrawnAndItsSourcesBelongToIt(t *testing.T) {
	t.Parallel()
	p, out := newPeer(t), &output{}
	options := Options{Interval: 200 * time.Millisecond, Duration: 4 * time.Second, Backfill: true, surveyEvery: time.Second}
	require.NoError(t, Run(t.Context(), options, depsOf(p, out, time.Hour)))
	var ids []string
	p.locked(func() {
		host, drawn := p.graph.nodeOf("kind", "machine")
		require.True(t, drawn)
		require.Equal(t, machine.HostName(), host.Name)
		processor, drawn := p.graph.nodeOf("kind", "processor")
		require.True(t, drawn)
		station, drawn := p.graph.nodeOf("place", "Seattle")
		require.True(t, drawn)
		require.Equal(t, processor.ID, p.links[p.sources[machine.HostName()+"/cpu"]])
		require.Equal(t, host.ID, p.links[p.sources[machine.HostName()+"/processes"]])
		require.Equal(t, station.ID, p.links[p.sources["weather/seattle"]])
		require.NotEmpty(t, p.graph.edges)
		require.LessOrEqual(t, p.graph.batches, 8, "what does not change is not written again")
		for id, n := range p.graph.nodes {
			if n.property("kind") != "process" { // these come and go
				ids = append(ids, id)
			}
		}
	})
	require.Contains(t, out.String(), "The machine's graph has ")
	require.NotContains(t, out.String(), "\ngraph: ", "no trouble")

	options.Duration = 2 * time.Second
	require.NoError(t, Run(t.Context(), options, depsOf(p, &output{}, time.Hour)))
	p.locked(func() {
		require.Subset(t, slices.Collect(maps.Keys(p.graph.nodes)), ids)
		machines := 0
		for _, n := range p.graph.nodes {
			if n.property("kind") == "machine" {
				machines++
			}
		}
		require.Equal(t, 1, machines, "another start makes no second copy")
	})
}

func TestProcessesComeAndGoInTheGraphAsOnTheMachine(t *testing.T) {
	t.Parallel()
	p, out := newPeer(t), &output{}
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	ended := make(chan struct{})
	t.Cleanup(func() { _ = child.Process.Kill(); <-ended })
	go func() { defer close(ended); _ = child.Wait() }()
	has := func() (found bool) {
		p.locked(func() {
			for _, n := range p.graph.nodes {
				found = found || (n.property("kind") == "process" && strings.HasPrefix(n.property("key"), "process/"+strconv.Itoa(child.Process.Pid)+"/"))
			}
		})
		return found
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		done <- Run(ctx, Options{Interval: time.Second, surveyEvery: 300 * time.Millisecond, settled: time.Second}, depsOf(p, out, time.Hour))
	}()
	require.Eventually(t, has, time.Minute, 100*time.Millisecond, "it runs for long enough to count")
	require.NoError(t, child.Process.Signal(os.Kill))
	require.Eventually(t, func() bool { return !has() }, time.Minute, 100*time.Millisecond, "it is gone")
	cancel()
	require.NoError(t, <-done)
}

func TestAServerWithoutAGraphStillGetsThePoints(t *testing.T) {
	t.Parallel()
	p, out := newPeer(t), &output{}
	p.refuse = func(r *http.Request) int {
		if strings.HasPrefix(r.URL.Path, "/api/queries/") {
			return http.StatusNotFound
		}
		return 0
	}
	require.NoError(t, Run(t.Context(), Options{Interval: 200 * time.Millisecond, Duration: 3 * time.Second}, depsOf(p, out, time.Hour)))
	require.Equal(t, 1, strings.Count(out.String(), "\ngraph: reading the graph: refused by the test"))
	require.Contains(t, out.String(), "0 were rejected, 0 dropped")
	require.NotContains(t, out.String(), "neighbors")
	p.locked(func() { require.NotEmpty(t, p.points) })
}
