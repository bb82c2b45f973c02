package docs

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheChartHasTheAlertsAndTheSettings compares the copies in the chart, which cannot refer to files
// outside of its folder. test/helm tests everything else of the chart.
func TestTheChartHasTheAlertsAndTheSettings(t *testing.T) {
	const chart, hint = "deploy/helm/livegraph/files/", "run `go test . -update` in test/helm"
	require.Equal(t, read(t, "deploy/prometheus/alerts.yml"), read(t, chart+"alerts.yml"), hint)
	var names []string
	for _, m := range regexp.MustCompile("(?m)^\\| `--[a-z0-9-]+` \\| `(LIVEGRAPH_[A-Z_]+)`").
		FindAllStringSubmatch(read(t, "docs/settings.md"), -1) {
		names = append(names, m[1])
	}
	require.Equal(t, strings.Join(names, "\n")+"\n", read(t, chart+"settings.txt"), hint)
}
