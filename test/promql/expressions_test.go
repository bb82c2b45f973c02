package promql_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/require"
)

const top = "../.."

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(top, path))
	require.NoError(t, err)
	return string(text)
}

// metric is a row of docs/metrics.md.
type metric struct {
	kind   string
	labels []string
}

var tableRow = regexp.MustCompile("(?m)^\\| `(livegraph_[a-z0-9_]+)` \\| ([a-z]+) \\| ([^|]*) \\|")

// metrics reads docs/metrics.md.
func metrics(t *testing.T) map[string]metric {
	t.Helper()
	found := map[string]metric{}
	for _, row := range tableRow.FindAllStringSubmatch(read(t, "docs/metrics.md"), -1) {
		m := metric{kind: row[2]}
		for _, label := range strings.Split(row[3], ", ") {
			if label = strings.Trim(label, "` "); label != "" {
				m.labels = append(m.labels, label)
			}
		}
		found[row[1]] = m
	}
	require.Greater(t, len(found), 80)
	return found
}

// otherMetrics are the used metrics of Prometheus and its client library.
var otherMetrics = map[string]metric{
	"up": {kind: "gauge"}, "process_start_time_seconds": {kind: "gauge"}, "process_open_fds": {kind: "gauge"},
	"process_max_fds": {kind: "gauge"}, "process_cpu_seconds_total": {kind: "counter"},
	"process_resident_memory_bytes": {kind: "gauge"}, "go_goroutines": {kind: "gauge"},
	"go_gc_duration_seconds_sum": {kind: "counter"}, "go_memstats_alloc_bytes_total": {kind: "counter"},
}

// metricOf returns the metric of a series: a histogram has three series.
func metricOf(all map[string]metric, series string) (metric, bool) {
	if m, known := all[series]; known && m.kind != "histogram" {
		return m, true
	}
	if m, known := otherMetrics[series]; known {
		return m, true
	}
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		m, known := all[strings.TrimSuffix(series, suffix)]
		if known && m.kind == "histogram" && strings.HasSuffix(series, suffix) {
			if suffix == "_bucket" {
				m.labels = append(slices.Clone(m.labels), "le")
			}
			return m, true
		}
	}
	return metric{}, false
}

// check parses an expression and compares it with the metrics. It returns the labels of its series.
func check(t *testing.T, all map[string]metric, expression string) map[string]bool {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	require.NoError(t, err, expression)
	labels := map[string]bool{"job": true, "instance": true}
	selectors := 0
	parser.Inspect(parsed, func(node parser.Node, path []parser.Node) error {
		selector, ok := node.(*parser.VectorSelector)
		if !ok {
			return nil
		}
		selectors++
		m, known := metricOf(all, selector.Name)
		require.True(t, known, "%s: there is no metric %s", expression, selector.Name)
		for _, label := range m.labels {
			labels[label] = true
		}
		for _, matcher := range selector.LabelMatchers {
			if matcher.Name != "__name__" {
				require.Contains(
					t, append([]string{"job", "instance"}, m.labels...), matcher.Name, "%s: %s has no such label", expression,
					selector.Name,
				)
			}
		}
		cumulative := m.kind == "counter" || m.kind == "histogram"
		if shownAsTotal.MatchString(selector.Name) {
			return nil
		}
		require.Equal(t, cumulative, underRate(path), "%s: %s is a %s", expression, selector.Name, m.kind)
		return nil
	})
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if a, ok := node.(*parser.AggregateExpr); ok {
			for _, label := range a.Grouping {
				require.True(t, labels[label], "%s: groups by %s, which nothing has", expression, label)
			}
		}
		return nil
	})
	require.Positive(t, selectors, expression)
	return labels
}

// shownAsTotal matches counters of events that must never happen. Their total is shown, too.
var shownAsTotal = regexp.MustCompile(`_(lost_records|dead_letters)_total`)

// underRate reports whether a series is the argument of rate, increase or irate.
func underRate(path []parser.Node) bool {
	for _, node := range path {
		if call, ok := node.(*parser.Call); ok && slices.Contains([]string{"rate", "increase", "irate"}, call.Func.Name) {
			return true
		}
	}
	return false
}
