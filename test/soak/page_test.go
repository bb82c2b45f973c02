package main

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/load"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/soak/traffic"
	"github.com/livegraph/livegraph/test/soak/watch"
)

// aRun is a run of an hour in which nothing was wrong.
func aRun() *result {
	r := &result{
		Command: "make soak", Length: time.Hour, Capacity: 100, Share: 0.7, Rate: 62, Checked: 8,
		Engines: map[string]string{"redis": "8", "kafka": "kfake 1"},
		Steps:   []traffic.Step{{Callers: 4, PerSecond: 100, P99: 12}}, Order: []string{"commands", "searches"},
		Kinds: map[string]*traffic.Counts{"commands": {ByStatus: map[int]int{0: 1, 200: 90, 503: 9}}},
		Events: []event{
			{What: "kill/api", At: time.Minute}, {What: "rolling restart", At: 2 * time.Minute, Restart: true},
			{What: "full/redis", Missed: "it was away"},
		},
	}
	for at := time.Duration(0); at <= time.Hour; at += 5 * time.Second {
		r.Samples = append(r.Samples, watch.Sample{
			At: at, Lag: map[string]int64{"livegraph-points": 3}, Requests: &traffic.Counts{ByStatus: map[int]int{200: 300}},
			Processes: map[string]watch.Process{"api-1": {Vitals: load.Vitals{
				Resident: 200 << 20, Goroutines: 100, OpenFiles: 50,
			}}},
		})
	}
	return r
}

func TestARunBecomesAPageWithPlots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "soak.md")
	require.NoError(t, aRun().write(path))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(raw)
	for _, want := range []string{
		"kafka kfake 1, redis 8", "| 4 | 100 | 12 ms | 0.0 s |", "| commands | 100 | 90.00 % |", "none: 1, 200: 90, 503: 9",
		"| api-1 | memory | 200 MiB | +0.0 | +0.0 | no |", "| 1.0 | kill/api |", "it did not happen: it was away",
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "What was wrong")
	images, err := filepath.Glob(filepath.Join(filepath.Dir(path), imagesPath, "soak-*.svg"))
	require.NoError(t, err)
	require.Len(t, images, 6)
	for _, image := range images {
		require.Contains(t, page, filepath.Base(image))
	}
}

func TestTheVerdictIsGoodOnlyIfNothingIsWrong(t *testing.T) {
	require.True(t, aRun().Good(), "requests without an answer, and 503, are what faults do")
	for name, spoil := range map[string]func(*result){
		"There were answers other than": func(r *result) { r.Kinds["commands"].ByStatus[500] = 1 },
		"Invariant 5 was broken":        func(r *result) { r.Violations = []run.Violation{{Invariant: 5}} },
		"goes up: open files of api-1": func(r *result) {
			for i, s := range r.Samples {
				p := s.Processes["api-1"]
				p.OpenFiles += float64(i)
				s.Processes["api-1"] = p
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := aRun()
			spoil(r)
			require.False(t, r.Good())
			require.Contains(t, r.Verdict(), name)
		})
	}
	short := aRun()
	short.Length = time.Minute
	require.Contains(t, short.Verdict(), "too short")
}

func TestALengthIsWrittenAsItIsTyped(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 2 * time.Minute: "2m", 45 * time.Second: "45s",
	} {
		require.Equal(t, want, shortest(d))
	}
}
