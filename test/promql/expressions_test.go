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

// metrics reads the page.
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

// others are the metrics of Prometheus and its client library that are used.
var others = map[string]metric{
	"up": {kind: "gauge"}, "process_start_time_seconds": {kind: "gauge"}, "process_open_fds": {kind: "gauge"},
	"process_max_fds": {kind: "gauge"}, "process_cpu_seconds_total": {kind: "counter"},
	"process_resident_memory_bytes": {kind: "gauge"}, "go_goroutines": {kind: "gauge"},
	"go_gc_duration_seconds_sum": {kind: "counter"}, "go_memstats_alloc_bytes_total": {kind: "counter"},
}

// of finds the metric that a series belongs to: a histogram has three.
func of(all map[string]metric, series string) (metric, bool) {
	if m, known := all[series]; known && m.kind != "histogram" {
		return m, true
	}
	if m, known := others[series]; known {
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

// check parses an expression and holds it against the metrics. It gives the
// labels that its series have.
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
		m, known := of(all, selector.Name)
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
		if asTheyStand.MatchString(selector.Name) {
			return nil
		}
		require.Equal(t, cumulative, rated(path), "%s: %s is a %s", expression, selector.Name, m.kind)
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

// asTheyStand are counters of what must never happen, whose total is shown too.
var asTheyStand = regexp.MustCompile(`_(lost_records|dead_letters)_total`)

// rated reports whether a series is below a function of counters.
func rated(path []parser.Node) bool {
	for _, node := range path {
		if call, ok := node.(*parser.Call); ok && slices.Contains([]string{"rate", "increase", "irate"}, call.Func.Name) {
			return true
		}
	}
	return false
}
