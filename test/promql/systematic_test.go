package promql_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/promql/parser"
)

// Parts of the systematic queries.
var (
	demoWindows   = []string{"5s", "15s", "1m", "5m", "15m", "1h"}
	demoOffsets   = []string{"1m", "5m", "10m"}
	demoQuantiles = []string{"-0.5", "0", "0.1", "0.5", "0.75", "0.9", "0.99", "1", "1.5"}
	demoVectors   = []string{
		"demo_memory_usage_bytes", `-demo_memory_usage_bytes{type!="free"}`, "demo_intermittent_metric",
		"rate(demo_cpu_usage_seconds_total[1m])",
	}
	demoGroupings = []string{
		"", "by ()", "by (instance)", "by (instance, type)", "by (none)", "without ()", "without (instance)",
		"without (instance, type)",
	}
	arithmetic  = []string{"+", "-", "*", "/", "%", "^", "atan2"}
	comparisons = []string{"==", "!=", "<", ">", "<=", ">="}
)

// systematicQueries returns queries of the demo data with each function, aggregation and operator that a Prometheus
// with default settings has.
func systematicQueries() []string {
	return slices.Concat(selectorQueries(), functionQueries(), labelQueries(), aggregationQueries(), operatorQueries())
}

// selectorQueries returns literals, and selectors with all matchers and modifiers.
func selectorQueries() []string {
	list := []string{
		"42", "-1.5e3", "0x1f", "Inf", "-Inf", "NaN", `"text"`, "pi()", "time()", "1 + 2 * 3 ^ 2 % 4", "-2 ^ 2", "1h30m",
		"demo_num_cpus * NaN", "demo_num_cpus * -Inf", "demo_num_cpus / 0", `{__name__=~".*"}`, `{instance=""}`,
		`{job="demo"}`, `{__name__=~"demo_(disk|num).*"}`, "demo_memory_usage_bytes[1m]", "demo_none",
		`{"demo_num_cpus", "job"="demo"}`, "demo_memory_usage_bytes +", "sum(1)",
	}
	for _, matchers := range []string{
		"", `{type="free"}`, `{type!="free"}`, `{type=~"free|used"}`, `{type!~".*e.*"}`, `{none=""}`, `{none!=""}`,
		`{type="free",instance!~".*:10000"}`, `{instance=~":10000"}`, `{type=~"(?i:FREE)"}`,
	} {
		for _, modifier := range []string{
			"", " offset 5m", " offset -5m", " offset 1h30m", " @ end()", " @ start() offset 1m",
			fmt.Sprintf(" @ %d", demoStart/1000+600),
		} {
			list = append(list, "demo_memory_usage_bytes"+matchers+modifier)
		}
	}
	return list
}

// functionQueries returns calls of all functions, with all combinations of some arguments.
func functionQueries() (list []string) {
	var matrices []string
	for _, metric := range []string{
		"demo_cpu_usage_seconds_total", "demo_batch_last_success_timestamp_seconds", "demo_intermittent_metric",
	} {
		for _, window := range demoWindows {
			matrices = append(matrices, metric+"["+window+"]")
		}
	}
	matrices = append(
		matrices, "rate(demo_cpu_usage_seconds_total[1m])[5m:30s]", "demo_memory_usage_bytes[10m:] offset 5m",
		"(demo_num_cpus > 5)[5m:1m]",
	)
	arguments := map[parser.ValueType][]string{
		parser.ValueTypeMatrix: matrices, parser.ValueTypeVector: demoVectors,
		parser.ValueTypeScalar: {"0.3", "time() / 1e10"},
	}
	for _, name := range slices.Sorted(maps.Keys(parser.Functions)) {
		f := parser.Functions[name]
		if f.Experimental || slices.Contains(f.ArgTypes, parser.ValueTypeString) {
			continue
		}
		for count := len(f.ArgTypes) - max(f.Variadic, 0); count <= len(f.ArgTypes); count++ {
			calls := []string{""}
			for _, kind := range f.ArgTypes[:count] {
				calls = product(calls, arguments[kind])
			}
			for _, call := range calls {
				list = append(list, name+"("+strings.TrimPrefix(call, ", ")+")")
			}
		}
	}
	return list
}

// product appends each of the arguments to each of the calls.
func product(calls, arguments []string) (list []string) {
	for _, call := range calls {
		for _, argument := range arguments {
			list = append(list, call+", "+argument)
		}
	}
	return list
}

// labelQueries returns calls that change labels or read those of histograms. Some of them fail.
func labelQueries() []string {
	const buckets = "demo_api_request_duration_seconds_bucket"
	list := []string{
		`label_join(demo_num_cpus, "both", "-", "instance", "job")`, `label_join(demo_num_cpus, "job", "", "none")`,
		`label_join(demo_num_cpus, "instance", "-", "job")`, `label_join(demo_num_cpus, "\xff", "-", "job")`,
		"histogram_quantile(0.9, demo_none)", "histogram_quantile(0.9, demo_memory_usage_bytes)",
		`histogram_quantile(0.9, {__name__=~"demo_api_request_.+"})`,
		"histogram_fraction(0, 0.2, rate(" + buckets + "[5m]))", "absent(demo_none)",
		`absent(demo_none{job="demo",instance=~".+"})`, `count_values("v", ` + buckets + ")",
		`absent_over_time(demo_none{job="demo"}[5m])`,
		"max_over_time((time() - max(demo_batch_last_success_timestamp_seconds) < 500)[5m:10s] offset 1m)",
	}
	for _, arguments := range []string{
		`"job", "port-$1", "instance", ".*:(.*)"`, `"job", "$2-$1", "instance", "(.*):(.*)"`,
		`"job", "x", "instance", "demo"`, `"job", "x$1", "none", "(.*)"`, `"job", "", "instance", ".*"`,
		`"new", "$port", "instance", ".*:(?P<port>.*)"`, `"instance", "", "", ""`, `"job", "$1", "instance", "(.*"`,
		`"\xff", "x", "instance", ".*"`, `"a b", "x", "job", ".*"`,
	} {
		list = append(list, "label_replace(demo_num_cpus, "+arguments+")")
	}
	for _, q := range demoQuantiles {
		for _, window := range []string{"1m", "1h"} {
			list = append(list, fmt.Sprintf("histogram_quantile(%s, rate(%s[%s]))", q, buckets, window))
		}
		list = append(list, fmt.Sprintf("histogram_quantile(%s, sum by (le, path) (rate(%s[5m])))", q, buckets))
	}
	return list
}

// aggregationQueries returns all aggregations with all groupings.
func aggregationQueries() (list []string) {
	operators := []string{
		"sum(", "avg(", "min(", "max(", "count(", "group(", "stddev(", "stdvar(", "topk(2, ", "bottomk(2, ", "topk(0, ",
		`count_values("value", `,
	}
	for _, q := range demoQuantiles {
		operators = append(operators, "quantile("+q+", ")
	}
	for _, operator := range operators {
		name, parameter, _ := strings.Cut(operator, "(")
		for _, grouping := range demoGroupings {
			for _, vector := range []string{"demo_memory_usage_bytes", "demo_intermittent_metric"} {
				list = append(list, fmt.Sprintf("%s %s (%s%s)", name, grouping, parameter, vector))
			}
		}
		list = append(list, operator+"demo_none)")
	}
	return list
}

// operatorQueries returns all operators with scalars, vectors and matchings. Some of them fail.
func operatorQueries() (list []string) {
	for _, operator := range slices.Concat(arithmetic, comparisons) {
		for _, form := range []string{
			"demo_memory_usage_bytes %s 3e8", "3e8 %s demo_memory_usage_bytes", "time() %s demo_memory_usage_bytes",
			"demo_memory_usage_bytes %s (1e9 - 5 * 2 ^ 3)", "demo_memory_usage_bytes %s demo_memory_usage_bytes offset 5m",
			"demo_memory_usage_bytes %s on (instance, type) demo_memory_usage_bytes offset 1m",
			"demo_memory_usage_bytes %s ignoring (type) group_left () demo_num_cpus",
			"demo_num_cpus %s on (instance) group_right (none) demo_memory_usage_bytes",
			"sum by (instance, type) (demo_memory_usage_bytes) %s on (instance, type) group_left (job) demo_memory_usage_bytes",
			"demo_memory_usage_bytes %s on (instance) demo_memory_usage_bytes", "demo_num_cpus %s on (job) demo_num_cpus",
		} {
			list = append(list, fmt.Sprintf(form, operator))
		}
	}
	for _, operator := range comparisons {
		for _, form := range []string{
			"1 %s bool 2", "time() %s bool time()", "demo_memory_usage_bytes %s bool 3e8", "3e8 %s bool demo_memory_usage_bytes",
			"demo_memory_usage_bytes %s bool on (instance, type) demo_memory_usage_bytes offset 5m", "1 %s 2",
		} {
			list = append(list, fmt.Sprintf(form, operator))
		}
	}
	for _, operator := range []string{"and", "or", "unless"} {
		for _, form := range []string{
			`demo_memory_usage_bytes %s demo_memory_usage_bytes{type="free"}`,
			"demo_num_cpus %s on (instance) demo_intermittent_metric",
			"demo_intermittent_metric %s ignoring (type) demo_memory_usage_bytes", "demo_num_cpus %s on () vector(1)",
		} {
			list = append(list, fmt.Sprintf(form, operator))
		}
	}
	for _, operator := range arithmetic {
		list = append(list, "1 "+operator+" time()", "time() "+operator+" time()")
	}
	return list
}
