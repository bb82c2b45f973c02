package demo

import (
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
	require.EqualValues(t, 7, st.Waiting)
	require.EqualValues(t, 5, st.Dropped)
	require.Len(t, <-s.queue, 3, "in order")
	s.push(make([]client.Point, 6))
	require.EqualValues(t, 5, s.current().Dropped)
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
		point("memory", "used_percent", "", "", 3), {Source: "host/cpu", Metric: "usage_percent", Value: 4},
		point("processes", "rss_bytes", "process", "idle", 9), point("processes", "cpu_percent", "process", "idle", 0),
		point("processes", "cpu_percent", "process", "busy", 5), point("processes", "rss_bytes", "process", "busy", 6),
		point("processes", "instances", "process", "busy", 1),
	})
	before := s
	require.Equal(t, [][2]string{
		{"cpu", "4.0 %"}, {"memory", "3.0 %"}, {"disk /a", "1.0 %"}, {"disk /b", "2.0 %"},
	}, s.values())
	require.Equal(t, [][2]string{{"busy", "   5.0 %       6 B"}, {"idle", "   0.0 %       9 B"}}, s.programs())
	s.setLatest([]client.Point{point("memory", "used_percent", "", "", 8)})
	require.Equal(t, [][2]string{
		{"cpu", "4.0 %"}, {"memory", "8.0 %"}, {"disk /a", "1.0 %"}, {"disk /b", "2.0 %"},
	}, s.values(), "the others are late")
	require.Len(t, s.programs(), 2)
	require.Equal(t, [2]string{"memory", "3.0 %"}, before.values()[1], "a copy of the status does not change")
	require.Equal(t, []float64{4}, s.CPU)
	for range 500 {
		s.setLatest([]client.Point{{Source: "host/cpu", Metric: "usage_percent", Value: 9}})
	}
	require.Len(t, s.CPU, maxHistory)
}

func TestTheViewShowsMetricsThatAreMeasured(t *testing.T) {
	units := map[string]string{}
	for _, source := range machine.NewSampler("host", nil).Sources() {
		for _, m := range source.Metrics {
			units[source.Tags["kind"]+" "+m.Name] = m.Unit
		}
	}
	require.NotEmpty(t, headlines)
	for _, h := range headlines {
		require.Contains(t, units, h[0])
		require.Equal(t, units[h[0]], h[2], h[0])
	}
	for _, metric := range []string{"cpu usage_percent", "processes cpu_percent", "processes rss_bytes"} {
		require.Contains(t, units, metric)
	}
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
