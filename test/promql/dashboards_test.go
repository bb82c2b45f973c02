package promql_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type source struct{ Type, UID string }

type dashboard struct {
	UID, Title    string
	SchemaVersion int
	Templating    struct {
		List []struct{ Name, Type, Definition string }
	}
	Annotations struct {
		List []struct {
			Name, Expr string
			BuiltIn    int
		}
	}
	Panels []panel
}

type panel struct {
	ID          int
	Type, Title string
	GridPos     struct{ H, W, X, Y int }
	Datasource  *source
	FieldConfig struct{ Defaults struct{ Unit string } }
	Options     map[string]any
	Panels      []panel
	Targets     []struct {
		RefID, Expr, LegendFormat string
		Datasource                *source
	}
}

func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(top, "deploy/grafana/dashboards/*.json"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	found := map[string]dashboard{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var d dashboard
		require.NoError(t, json.Unmarshal(text, &d), file)
		found[filepath.Base(file)] = d
	}
	return found
}

// variableValues replaces Grafana's variables by values.
var variableValues = strings.NewReplacer("$__rate_interval", "1m", "$__interval", "1m", "$job", ".+", "$instance", ".+")

var legendLabel = regexp.MustCompile(`\{\{\s*([a-z_]+)\s*\}\}`)

// metricsDashboard is the dashboard of Livegraph's metrics. Other dashboards may have another type of
// data source.
const metricsDashboard = "livegraph.json"

func TestEveryPanelReadsMetricsThatAreThere(t *testing.T) {
	all := metrics(t)
	d := dashboards(t)[metricsDashboard]
	expressions := 0
	for _, p := range d.Panels {
		if p.Type == "row" {
			continue
		}
		require.NotEmpty(t, p.Targets, p.Title)
		seen := map[string]bool{}
		for _, target := range p.Targets {
			require.False(t, seen[target.RefID], p.Title)
			seen[target.RefID] = true
			expression := variableValues.Replace(target.Expr)
			require.NotContains(t, expression, "$", p.Title)
			labels := check(t, all, expression)
			for _, used := range legendLabel.FindAllStringSubmatch(target.LegendFormat, -1) {
				require.True(t, labels[used[1]], "%s: the legend names %s", p.Title, used[1])
			}
			require.Contains(t, target.Expr, `job=~"$job",instance=~"$instance"`, p.Title)
			require.Equal(t, &source{Type: "prometheus", UID: "${datasource}"}, target.Datasource, p.Title)
			expressions++
		}
	}
	require.Greater(t, expressions, 60)
	for _, a := range d.Annotations.List {
		if a.BuiltIn == 0 {
			check(t, all, variableValues.Replace(a.Expr))
		}
	}
	used, err := json.Marshal(d)
	require.NoError(t, err)
	shown := 0
	for name := range all {
		if strings.Contains(string(used), name) {
			shown++
		}
	}
	require.Greater(t, shown, len(all)/2, "most of what is measured is to be seen")
}

func TestDashboardsAreWellFormed(t *testing.T) {
	for file, d := range dashboards(t) {
		require.NotEmpty(t, d.UID, file)
		require.NotEmpty(t, d.Title, file)
		require.GreaterOrEqual(t, d.SchemaVersion, 36, file)
		ids, cells := map[int]string{}, map[[2]int]string{}
		for _, p := range d.Panels {
			name := fmt.Sprintf("%s: %s", file, p.Title)
			require.NotEmpty(t, p.Title, name)
			require.Positive(t, p.ID, name)
			require.Empty(t, ids[p.ID], name)
			ids[p.ID] = p.Title
			require.Empty(t, p.Panels, "%s: panels lie beside their row", name)
			g := p.GridPos
			require.True(t, g.X >= 0 && g.W > 0 && g.H > 0 && g.X+g.W <= 24, name)
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					require.Empty(t, cells[[2]int{x, y}], "%s lies over another", name)
					cells[[2]int{x, y}] = p.Title
				}
			}
		}
	}
	variables := map[string]string{}
	for _, v := range dashboards(t)[metricsDashboard].Templating.List {
		variables[v.Name] = v.Type
	}
	require.Equal(t, map[string]string{"datasource": "datasource", "job": "query", "instance": "query"}, variables)
}
