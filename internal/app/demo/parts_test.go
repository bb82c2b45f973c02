package demo

import (
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/client"
	"github.com/livegraph/livegraph/internal/app/demo/machine"
)

func TestTheQueueIsBoundedAndCounted(t *testing.T) {
	s := &session{queue: make(chan []client.Point, 2)}
	s.push(make([]client.Point, 3))
	s.push(make([]client.Point, 4))
	s.push(make([]client.Point, 5))
	st := s.current()
	require.EqualValues(t, 7, st.waiting)
	require.EqualValues(t, 5, st.dropped)
	require.Len(t, <-s.queue, 3, "in order")
	s.push(make([]client.Point, 6))
	require.EqualValues(t, 5, s.current().dropped)
}

func TestLatenciesAreOfTheLastRequests(t *testing.T) {
	var w latencies
	for i := range 1000 {
		w.add(time.Duration(i) * time.Millisecond)
	}
	require.Len(t, w, maxLatencies)
	require.Equal(t, 999*time.Millisecond, w[len(w)-1])
	require.Equal(t, (880+113)*time.Millisecond, w.p95())
	require.Equal(t, time.Second, latencies{time.Second}.p95())
}

func TestTheViewShowsTheNewestRound(t *testing.T) {
	point := func(source, metric, tag, key string, value float64) client.Point {
		return client.Point{Source: "host/" + source, Metric: metric, Tags: map[string]string{tag: key}, Value: value}
	}
	var s status
	s.setLatest([]client.Point{
		point("disk", "used_percent", "mount", "/b", 2), point("disk", "used_percent", "mount", "/a", 1),
		point("memory", "used_percent", "", "", 3), {Source: "host/cpu", Metric: machine.CPUUsage, Value: 4},
		point("processes", machine.ProcessRSS, "process", "idle", 9),
		point("processes", machine.ProcessCPU, "process", "idle", 0),
		point("processes", machine.ProcessCPU, "process", "busy", 5),
		point("processes", machine.ProcessRSS, "process", "busy", 6),
		point("processes", "instances", "process", "busy", 1),
	})
	require.Equal(t, []value{
		{"cpu", "percent", 4}, {"memory", "percent", 3}, {"disk /a", "percent", 1}, {"disk /b", "percent", 2},
	}, slices.Concat(s.values...))
	require.Equal(t, []program{{"busy", 5, 6}, {"idle", 0, 9}}, s.programs)
	s.setLatest([]client.Point{point("memory", "used_percent", "", "", 3)})
	require.Len(t, slices.Concat(s.values...), 4, "the others are late")
	require.Len(t, s.programs, 2)
	require.Equal(t, []float64{4}, s.cpu)
	for range 500 {
		s.setLatest([]client.Point{{Source: "host/cpu", Metric: machine.CPUUsage, Value: 9}})
	}
	require.Len(t, s.cpu, maxHistory)
}

func TestCommandsSurviveOddNames(t *testing.T) {
	s := &session{deps: Deps{BaseURL: "http://127.0.0.1:8080/", DataDir: "it's a folder"}}
	text := s.hints("")
	require.Contains(t, text, `sources list --data-dir 'it'\''s a folder' --workspace `+uuid.Nil.String())
	require.Contains(t, text, "http://127.0.0.1:8080/admin")
	require.NotContains(t, text, "weather", "there is no history")
	require.NotContains(t, text, "graph neighbors", "there is no graph")
	require.Contains(t, s.hints("some-node"), "graph neighbors some-node --data-dir")
}
