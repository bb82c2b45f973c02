package machine

import (
	"context"
	"maps"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shirou/gopsutil/v4/common"
	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/internal/app/client"
)

// sampleUntil samples until the metrics, by kind of source, are measured. It returns each
// source's newest values. Rates exist from the second round on; on a busy machine, a
// collector's rounds are late and further apart.
func sampleUntil(t *testing.T, s *Sampler, metrics map[string]string) []client.Point {
	t.Helper()
	newest := map[string][]client.Point{}
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(400 * time.Millisecond) {
		round := map[string][]client.Point{}
		for _, sample := range s.Sample(t.Context(), time.Now()) {
			round[sample.Source] = append(round[sample.Source], sample)
		}
		maps.Copy(newest, round)
		samples := slices.Concat(slices.Collect(maps.Values(newest))...)
		missing := ""
		for kind, metric := range metrics {
			if len(valuesOf(samples, kind, metric)) == 0 {
				missing = kind + " " + metric
			}
		}
		if missing == "" {
			return samples
		}
		require.True(t, time.Now().Before(deadline), "%s is not measured", missing)
	}
}

func valuesOf(samples []client.Point, kind, metric string) []client.Point {
	var found []client.Point
	for _, s := range samples {
		if strings.HasSuffix(s.Source, "/"+kind) && s.Metric == metric {
			found = append(found, s)
		}
	}
	return found
}

func TestThisMachineIsMeasuredPlausibly(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what can be measured is known here only for Linux")
	}
	stop := burn()
	defer stop()
	s := NewSampler("here", func(string) {})
	samples := sampleUntil(t, s, map[string]string{
		"cpu": "usage_percent", "memory": "total_bytes", "load": "load1", "disk": "used_percent",
	})

	usage := valuesOf(samples, "cpu", "usage_percent")
	require.Len(t, usage, 1)
	require.Positive(t, usage[0].Value, "this test keeps a core busy")
	require.LessOrEqual(t, usage[0].Value, 100.0)
	require.NotEmpty(t, valuesOf(samples, "cpu", "core_usage_percent"))

	total := valuesOf(samples, "memory", "total_bytes")
	used := valuesOf(samples, "memory", "used_bytes")
	require.Len(t, total, 1)
	require.Len(t, used, 1)
	require.Greater(t, total[0].Value, used[0].Value)
	require.Greater(t, used[0].Value, 1e6)

	require.Len(t, valuesOf(samples, "load", "load1"), 1)

	full := valuesOf(samples, "disk", "used_percent")
	require.NotEmpty(t, full)
	require.Equal(t, map[string]string{"mount": "/"}, full[0].Tags)

	for _, sample := range samples {
		require.False(t, math.IsNaN(sample.Value) || math.IsInf(sample.Value, 0))
		require.GreaterOrEqual(t, sample.Value, -60.0, "%s %s", sample.Source, sample.Metric)
		if strings.HasSuffix(sample.Metric, "_percent") && !strings.HasSuffix(sample.Source, "/processes") {
			require.LessOrEqual(t, sample.Value, 101.0, "%s %v", sample.Metric, sample.Tags)
		}
	}
}

func TestTheBusyProcessIsAmongTheBusiest(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("what can be measured is known here only for Linux")
	}
	stop := burn()
	defer stop()
	s := NewSampler("here", func(string) {})
	samples := sampleUntil(t, s, map[string]string{"processes": "cpu_percent"})
	shares := valuesOf(samples, "processes", "cpu_percent")
	require.NotEmpty(t, shares)
	require.LessOrEqual(t, len(shares), maxBusiest)

	executable, err := os.Executable()
	require.NoError(t, err)
	me := programName(filepath.Base(executable))
	found := false
	for _, share := range shares {
		if share.Tags["process"] == me {
			found = true
			require.Greater(t, share.Value, 1.0)
		}
	}
	require.True(t, found, "%s is not among %v", me, shares)
	require.Len(t, valuesOf(samples, "processes", "rss_bytes"), len(shares))
}

// burn keeps one core busy until stopped.
func burn() (stop func()) {
	var ended atomic.Bool
	done := make(chan struct{})
	go func() {
		defer close(done)
		for !ended.Load() {
			for range 1000 {
				_ = math.Sqrt(float64(time.Now().UnixNano()))
			}
		}
	}()
	return func() { ended.Store(true); <-done }
}

func TestEverySampleBelongsToADescribedSourceAndMetric(t *testing.T) {
	s := NewSampler("here", func(string) {})
	described := map[string]bool{}
	for _, c := range s.collectors {
		require.NotNil(t, c.read, c.source.Name)
	}
	for _, source := range s.Sources() {
		require.NotEmpty(t, source.NodeID)
		require.Equal(t, "here/"+source.Tags["kind"], source.Name)
		require.NotEmpty(t, source.Description)
		for _, m := range source.Metrics {
			require.NotEmpty(t, m.Description)
			described[source.Name+" "+m.Name] = true
		}
	}
	at := time.Now()
	s.Sample(t.Context(), at)
	time.Sleep(50 * time.Millisecond)
	at = at.Add(time.Second)
	series := map[string]bool{}
	for _, sample := range s.Sample(t.Context(), at) {
		require.True(t, described[sample.Source+" "+sample.Metric], "%s %s is not described", sample.Source, sample.Metric)
		require.Equal(t, at.UnixMilli(), sample.Timestamp)
		require.LessOrEqual(t, len(sample.Tags), 1)
		id := sample.Source + " " + sample.Metric
		for k, v := range sample.Tags {
			id += " " + k + "=" + v
		}
		require.False(t, series[id], "%s is there twice", id)
		series[id] = true
	}
}

func TestAMachineWithoutProcIsLoggedOnceAndDoesNotFail(t *testing.T) {
	empty := t.TempDir()
	ctx := context.WithValue(context.Background(), common.EnvKey, common.EnvMap{
		common.HostProcEnvKey: empty, common.HostSysEnvKey: empty, common.HostEtcEnvKey: empty,
	})
	notices := map[string]int{}
	s := NewSampler("here", func(text string) { notices[text]++ })
	for range 3 {
		s.Sample(ctx, time.Now())
	}
	require.NotEmpty(t, notices)
	for text, times := range notices {
		require.Equal(t, 1, times, text)
	}
}

func TestASlowCollectorPauses(t *testing.T) {
	calls := 0
	slow := newReadings()
	slow.source.Name = "here/slow"
	slow.read = func(_ context.Context, into *collector) error {
		calls++
		time.Sleep(100 * time.Millisecond)
		into.add("v", "", "", float64(calls))
		into.add("nonsense", "", "", math.NaN())
		return nil
	}
	s := NewSampler("here", func(string) {})
	s.collectors = []*collector{
		slow, {source: client.Source{Name: "here/memory"}, keys: map[string]bool{}, read: readMemory},
	}
	first := time.Unix(1000, 0)
	measured := valuesOf(s.Sample(t.Context(), first), "slow", "v")
	require.Len(t, measured, 1)
	require.Equal(t, first.UnixMilli(), measured[0].Timestamp)

	s.collectors[1].notBefore = time.Time{}
	samples := s.Sample(t.Context(), first.Add(time.Second))
	require.NotEmpty(t, valuesOf(samples, "memory", "total_bytes"), "the others go on")
	require.Empty(t, valuesOf(samples, "slow", "v"))
	require.Equal(t, 1, calls)
	require.WithinRange(t, slow.notBefore, time.Now().Add(time.Second), time.Now().Add(maxPause))
}
