package promql_test

import (
	"flag"
	"os"
	"strings"
	"testing"
	"text/template"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// suiteFile is the path of the file of queries of Prometheus' compliance suite, which no module has.
var suiteFile = flag.String("suite", "", "also compare the queries in this file, promql-test-queries.yml of the "+
	"compliance suite of Prometheus for PromQL")

// suiteVariants are the arguments of the templates in the suite.
var suiteVariants = map[string][]string{
	"range": demoWindows, "offset": demoOffsets, "quantile": demoQuantiles, "arithBinOp": arithmetic,
	"compBinOp": comparisons, "binOp": append(arithmetic[:len(arithmetic):len(arithmetic)], comparisons...),
	"simpleAggrOp":     {"sum", "avg", "min", "max", "count", "stddev", "stdvar"},
	"simpleTimeAggrOp": {"sum", "avg", "min", "max", "count", "stddev", "stdvar", "absent", "last", "present"},
	"simpleMathFunc":   {"abs", "ceil", "exp", "floor", "ln", "log2", "log10", "round", "sgn", "sqrt"},
	"dateFunc": {
		"year", "month", "day_of_year", "day_of_month", "day_of_week", "days_in_month", "hour", "minute",
	},
	"topBottomOp": {"topk", "bottomk"}, "extrapolatedRateFunc": {"rate", "increase", "delta"},
	"instantRateFunc": {"irate", "idelta"}, "clampFunc": {"clamp_min", "clamp_max"},
}

// suiteCase is a query of the suite, or a template of queries.
type suiteCase struct {
	Query          string
	VariantArgs    []string `yaml:"variant_args"`
	ShouldFail     bool     `yaml:"should_fail"`
	ShouldBeEmpty  bool     `yaml:"should_be_empty"`
	SkipComparison bool     `yaml:"skip_comparison"`
}

// compareSuite compares the answers to the queries in a file of the suite. It also compares those for which the suite
// skips the comparison.
func (o *oracle) compareSuite(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var file struct {
		Cases []suiteCase `yaml:"test_cases"`
	}
	require.NoError(t, yaml.Unmarshal(text, &file))
	var texts []string
	for _, c := range file.Cases {
		queries := c.expand(t)
		texts = append(texts, queries...)
		for _, query := range queries {
			points, ok := o.compare(t, evaluation{query, demoFrom, demoTo, demoStep})
			require.Equal(t, c.ShouldFail, !ok, query)
			require.False(t, c.ShouldBeEmpty && points > 0, query)
		}
	}
	require.Greater(t, len(texts), 500)
	o.compareDemoQueries(t, texts)
}

// expand returns the queries of a template.
func (c *suiteCase) expand(t *testing.T) []string {
	t.Helper()
	parsed, err := template.New("query").Option("missingkey=error").Parse(c.Query)
	require.NoError(t, err)
	choices := []map[string]string{{}}
	for _, name := range c.VariantArgs {
		require.NotEmpty(t, suiteVariants[name], name)
		var next []map[string]string
		for _, chosen := range choices {
			for _, value := range suiteVariants[name] {
				extended := map[string]string{name: value}
				for other, text := range chosen {
					extended[other] = text
				}
				next = append(next, extended)
			}
		}
		choices = next
	}
	var list []string
	for _, chosen := range choices {
		var query strings.Builder
		require.NoError(t, parsed.Execute(&query, chosen))
		list = append(list, query.String())
	}
	return list
}
