package soak

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/livegraph/livegraph/test/chaos/load"
	"github.com/livegraph/livegraph/test/chaos/run"
	"github.com/livegraph/livegraph/test/chaos/watch"
)

// cleanRun returns a run of one hour without violations.
func cleanRun() *result {
	r := &result{
		Command: "make soak", Length: time.Hour, Engines: map[string]string{"redis": "8", "kafka": "kfake 1"},
		Summary: run.Summary{Rounds: 1, Faults: 2, ByKind: map[string]int{"kill/api": 2}},
		Rounds: []run.Round{{Rolled: true, Began: 1000, Faults: []run.Injected{
			{Kind: "kill/api", At: 60_000}, {Kind: "full/redis", Missed: "it was away"},
		}}},
	}
	for at := time.Duration(0); at <= time.Hour; at += 5 * time.Second {
		r.Samples = append(r.Samples, watch.Sample{
			At: at, Lag: map[string]int64{"livegraph-points": 3},
			Processes: map[string]watch.Process{"api-1": {Vitals: load.Vitals{
				Resident: 200 << 20, Goroutines: 100, OpenFiles: 50,
			}}},
		})
	}
	return r
}

func TestARunBecomesAPageWithPlots(t *testing.T) {
	path := filepath.Join(t.TempDir(), "soak.md")
	require.NoError(t, cleanRun().write(path))
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	page := string(raw)
	for _, want := range []string{
		"kafka kfake 1, redis 8", "| api-1 | memory | 200 MiB | +0.0 | +0.0 | no |", "Faults: kill/api 2.",
		"For 1h the environment",
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, "Invariant")
	images, err := filepath.Glob(filepath.Join(filepath.Dir(path), imagesPath, "soak-*.svg"))
	require.NoError(t, err)
	require.Len(t, images, 4)
	for _, image := range images {
		require.Contains(t, page, filepath.Base(image))
	}
	plot := cleanRun().plot("x", nil)
	require.Equal(t, []time.Duration{time.Second}, plot.Bars)
	require.Equal(t, []time.Duration{61 * time.Second}, plot.Marks, "what did not happen has no mark")
}

func TestTheVerdictIsGoodOnlyIfNothingIsWrong(t *testing.T) {
	require.True(t, cleanRun().Good())
	for name, corrupt := range map[string]func(*result){
		"Invariant 5 was broken": func(r *result) { r.Rounds[0].Violations = []run.Violation{{Invariant: 5}} },
		"goes up: open files of api-1": func(r *result) {
			for i, s := range r.Samples {
				p := s.Processes["api-1"]
				p.OpenFiles += float64(i)
				s.Processes["api-1"] = p
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := cleanRun()
			corrupt(r)
			require.False(t, r.Good())
			require.Contains(t, r.Verdict(), name)
		})
	}
	short := cleanRun()
	short.Length = time.Minute
	require.Contains(t, short.Verdict(), "too short")
}

func TestALengthIsWrittenAsItIsTyped(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 2 * time.Minute: "2m", 45 * time.Second: "45s",
	} {
		require.Equal(t, want, formatLength(d))
	}
}
