package demo

import (
	"context"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/demo/machine"
	"github.com/livegraph/livegraph/test/testenv"
)

// nodeOf finds the node with a property's value.
func (g *fakeGraph) nodeOf(property, value string) (fakeNode, bool) {
	for _, n := range g.nodes {
		if n.property(property) == value {
			return n, true
		}
	}
	return fakeNode{}, false
}

// runUntil runs the demo until done returns true.
func runUntil(t *testing.T, o Options, d Deps, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- Run(ctx, o, d) }()
	require.Eventually(t, done, time.Minute, 50*time.Millisecond)
	cancel()
	require.NoError(t, <-ended)
}

func TestTheMachineIsDrawnAndItsSourcesBelongToIt(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	options := Options{Interval: 200 * time.Millisecond, surveyInterval: 500 * time.Millisecond}
	runUntil(t, options, newDeps(p, out), func() (all bool) {
		p.locked(func() {
			for _, source := range []string{machine.HostName() + "/cpu", machine.HostName() + "/processes", "weather/seattle"} {
				if all = p.links[p.sources[source]] != ""; !all {
					return
				}
			}
		})
		return all && strings.Contains(out.String(), "graph neighbors ")
	})
	var ids []string
	p.locked(func() {
		host, _ := p.graph.nodeOf("kind", "machine")
		require.Equal(t, machine.HostName(), host.Name)
		processor, _ := p.graph.nodeOf("kind", "processor")
		station, _ := p.graph.nodeOf("place", "Seattle")
		require.Equal(t, processor.ID, p.links[p.sources[machine.HostName()+"/cpu"]])
		require.Equal(t, host.ID, p.links[p.sources[machine.HostName()+"/processes"]])
		require.Equal(t, station.ID, p.links[p.sources["weather/seattle"]])
		require.NotEmpty(t, p.graph.edges)
		for id, n := range p.graph.nodes {
			if kind := n.property("kind"); kind != "process" && kind != "program" && kind != "user" { // these come and go
				ids = append(ids, id)
			}
		}
	})
	require.Contains(t, out.String(), "The machine's graph has ")
	require.NotContains(t, out.String(), "\ngraph: ", "no trouble")

	again := &testenv.Output{}
	runUntil(t, options, newDeps(p, again), func() bool {
		return strings.Contains(again.String(), "graph neighbors ")
	})
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

func TestProcessesOfTheGraphAreThoseOfTheMachine(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	child := exec.Command("sleep", "600")
	require.NoError(t, child.Start())
	ended := make(chan struct{})
	t.Cleanup(func() { _ = child.Process.Kill(); <-ended })
	go func() { defer close(ended); _ = child.Wait() }()
	has := func() (found bool) {
		p.locked(func() {
			for _, n := range p.graph.nodes {
				found = found ||
					(n.property("kind") == "process" &&
						strings.HasPrefix(n.property("key"), "process/"+strconv.Itoa(child.Process.Pid)+"/"))
			}
		})
		return found
	}
	options := Options{NoBackfill: true, surveyInterval: 300 * time.Millisecond, minProcessAge: time.Second}
	killed := false
	runUntil(t, options, newDeps(p, out), func() bool {
		if exists := has(); exists && !killed { // it has run for long enough to count
			killed = true
			_ = child.Process.Kill()
		} else if killed {
			return !exists
		}
		return false
	})
}

func TestAServerWithoutAGraphStillGetsThePoints(t *testing.T) {
	t.Parallel()
	p, out := newFakeServer(t), &testenv.Output{}
	surveys := 0
	p.refuse = func(r *http.Request) int {
		if strings.HasPrefix(r.URL.Path, "/api/queries/") {
			surveys++
			return http.StatusNotFound
		}
		return 0
	}
	const note = "\ngraph: reading the graph: refused by the test"
	options := Options{Interval: 200 * time.Millisecond, surveyInterval: 200 * time.Millisecond, NoBackfill: true}
	runUntil(t, options, newDeps(p, out), func() (done bool) {
		p.locked(func() { done = surveys > 1 && len(p.points) > 0 })
		return done && strings.Contains(out.String(), note)
	})
	require.Equal(t, 1, strings.Count(out.String(), note))
	require.Contains(t, out.String(), "0 were rejected, 0 dropped")
	require.NotContains(t, out.String(), "neighbors")
	p.locked(func() { require.NotEmpty(t, p.points) })
}
