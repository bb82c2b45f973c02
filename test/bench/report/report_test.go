package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPageIsGeneratedFromResults requires that docs/benchmarks.md is generated from docs/benchmarks.txt
// and the templates. `go run ./test/bench/report -render` generates it.
func TestPageIsGeneratedFromResults(t *testing.T) {
	root := filepath.Join("..", "..", "..")
	all, err := load(filepath.Join(root, resultsPath))
	require.NoError(t, err)
	want, err := renderPage(all)
	require.NoError(t, err)
	page, err := os.ReadFile(filepath.Join(root, pagePath))
	require.NoError(t, err)
	require.Equal(t, string(want), string(page))
}

func TestGoTestOutputIsParsed(t *testing.T) {
	r := newResults()
	for line := range strings.Lines(`goos: linux
engines: clickhouse 26.9, postgres 18.6
  turn 1 of 2: a line of progress, ms
BenchmarkPipeline/cpu/service-2         	       1	       164.0 cpu-ns/point
BenchmarkPipeline/cpu/service#01-2      	       1	       150 cpu-ns/point
BenchmarkPipeline/cpu/service#10        	       1	       158 cpu-ns/point
BenchmarkEncode/points=1000  	     216	   1641586 ns/op	 919.26 MB/s	       1.635e2 cpu-ns/point	  6201 B/op
BenchmarkFreshness/points=10k/answer-p50-16 	 1	 2.2 ms
BenchmarkBroken --- FAIL
PASS
`) {
		r.read(strings.TrimSuffix(line, "\n"))
	}
	require.Equal(t, map[string]string{"engines": "clickhouse 26.9, postgres 18.6"}, r.notes)
	require.Equal(t, map[string]*samples{
		"Pipeline/cpu/service":            {"cpu-ns/point", []float64{164, 150, 158}},
		"Encode/points=1000":              {"cpu-ns/point", []float64{163.5}},
		"Freshness/points=10k/answer-p50": {"ms", []float64{2.2}},
	}, r.samples)
	row, err := r.row("the service", "Pipeline/cpu/service")
	require.NoError(t, err)
	require.Equal(t, "| the service | 158 ns | 150 ns to 164 ns |", row)
	_, err = r.row("the service", "Pipeline/cpu")
	require.ErrorContains(t, err, `no samples of "Pipeline/cpu"`)
}

func TestSavedResultsAreLoadedUnchanged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.txt")
	all, err := load(path)
	require.NoError(t, err)
	require.Empty(t, all)
	for _, s := range sections[:2] {
		all[s.id] = newResults()
		all[s.id].read("machine: two cores: small")
		all[s.id].read("BenchmarkA/b-2 1 1.25 ms")
		all[s.id].read("BenchmarkA/b#01-2 1 2.5 ms")
	}
	require.NoError(t, save(path, all))
	again, err := load(path)
	require.NoError(t, err)
	require.Equal(t, all, again)
}

func TestValuesHaveThreeSignificantDigits(t *testing.T) {
	for value, want := range map[float64]string{
		0: "0", 0.00023: "0.0002", 0.0999: "0.0999", 1: "1.00", 9.996: "10.0", 99.96: "100", 0.9996: "1.00", 12.34: "12.3",
		999.6: "1.00 k", 123456: "123 k", 999_600: "1.00 M",
		3.26e6: "3.26 M", 2e10: "20.0 G",
	} {
		require.Equal(t, want, thousands(value))
	}
}

func TestUnmeasuredSectionShowsItsCommand(t *testing.T) {
	page, err := renderPage(nil)
	require.NoError(t, err)
	for _, s := range sections {
		require.Contains(t, string(page), "`make bench BENCH="+s.id+"`")
	}
}

func TestLongSectionRunsOnlyByName(t *testing.T) {
	long, short := section{id: "outage", asked: true}, section{id: "pipeline"}
	for only, want := range map[string][2]bool{
		"": {false, true}, "outage": {true, false}, "OUT": {true, false}, "pipe|out": {true, true},
	} {
		pattern, err := compile(only)
		require.NoError(t, err)
		require.Equal(t, want, [2]bool{long.selected(pattern), short.selected(pattern)}, only)
	}
	_, err := compile("(")
	require.Error(t, err)
}

func TestEverySectionHasATemplate(t *testing.T) {
	for _, s := range sections {
		text, err := templates.ReadFile("sections/" + s.id + ".md.tmpl")
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(string(text), "## "), s.id)
	}
}
