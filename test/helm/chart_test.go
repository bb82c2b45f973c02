package helm

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kubectl-validate/pkg/utils"
	"sigs.k8s.io/yaml"
)

const (
	top       = "../.."
	chartPath = top + "/deploy/helm/livegraph"
	namespace = "production"
	release   = "livegraph"
)

// update makes the tests of the chart's files write them.
var update = flag.Bool("update", false, "copy the alert rules and the names of the settings into the chart")

// cases are the values that the chart is rendered with, by name of the file in testdata.
var cases = []string{"minimum", "everything", "operators"}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(text)
}

// parse parses values.
func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	values := map[string]any{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &values))
	return values
}

// valuesOf returns the values of a case, with changes.
func valuesOf(t *testing.T, name string, changes ...string) map[string]any {
	t.Helper()
	values := parse(t, read(t, filepath.Join("testdata", name+".yaml")))
	for _, change := range changes {
		values = loader.MergeMaps(values, parse(t, change))
	}
	return values
}

func load(t *testing.T) *chart.Chart {
	t.Helper()
	loaded, err := loader.Load(chartPath)
	require.NoError(t, err)
	return loaded
}

// render renders the chart as `helm template` does. It returns the templates' output by path in the chart.
func render(loaded *chart.Chart, values map[string]any) (map[string]string, error) {
	options := common.ReleaseOptions{Name: release, Namespace: namespace, Revision: 1, IsInstall: true}
	merged, err := util.ToRenderValues(loaded, values, options, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(loaded, merged)
}

// manifests returns the rendered objects in a fixed order, as YAML.
func manifests(t *testing.T, loaded *chart.Chart, values map[string]any) (found []string) {
	t.Helper()
	output, err := render(loaded, values)
	require.NoError(t, err)
	var paths []string
	for path := range output {
		if strings.HasSuffix(path, ".yaml") {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	for _, path := range paths {
		documents, err := utils.SplitYamlDocuments([]byte(output[path]))
		require.NoError(t, err, path)
		for _, text := range documents {
			var content map[string]any
			require.NoError(t, yaml.UnmarshalStrict(text, &content), "%s:\n%s", path, text)
			if content != nil {
				found = append(found, string(text))
			}
		}
	}
	require.NotEmpty(t, found)
	return found
}

func TestTheChartIsLinted(t *testing.T) {
	for _, name := range cases {
		result := lint.RunAll(chartPath, valuesOf(t, name), namespace)
		for _, message := range result.Messages {
			if message.Severity > support.InfoSev {
				require.NoError(t, message, name)
			}
		}
	}
}

func TestTheVersionIsThatOfTheRepository(t *testing.T) {
	version := strings.TrimSpace(read(t, top+"/VERSION"))
	metadata := load(t).Metadata
	require.Equal(t, version, metadata.Version)
	require.Equal(t, version, metadata.AppVersion)
}

func TestRenderingIsDeterministic(t *testing.T) {
	for _, name := range cases {
		first, err := render(load(t), valuesOf(t, name))
		require.NoError(t, err)
		for range 5 {
			again, err := render(load(t), valuesOf(t, name))
			require.NoError(t, err)
			require.Equal(t, first, again)
		}
	}
}

// TestThePackageRendersLikeTheFolder packages the chart as `helm package` does.
func TestThePackageRendersLikeTheFolder(t *testing.T) {
	archive, err := chartutil.Save(load(t), t.TempDir())
	require.NoError(t, err)
	packaged, err := loader.Load(archive)
	require.NoError(t, err)
	for _, name := range cases {
		require.Equal(t, manifests(t, load(t), valuesOf(t, name)), manifests(t, packaged, valuesOf(t, name)))
	}
}

// copied compares a file of the chart with its content elsewhere, or writes it.
func copied(t *testing.T, name, want string) {
	t.Helper()
	path := filepath.Join(chartPath, "files", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	info, err := os.Lstat(path)
	require.NoError(t, err)
	require.True(t, info.Mode().IsRegular(), "helm package does not include what a link leads to")
	require.Equal(t, want, read(t, path), "run `go test . -update` in test/helm")
}

func TestTheAlertsAreThoseOfPrometheus(t *testing.T) {
	copied(t, "alerts.yml", read(t, top+"/deploy/prometheus/alerts.yml"))
	for _, text := range manifests(t, load(t), valuesOf(t, "everything")) {
		if object := parse(t, text); object["kind"] == "PrometheusRule" {
			require.Equal(t, parse(t, read(t, top+"/deploy/prometheus/alerts.yml")), object["spec"])
			return
		}
	}
	require.Fail(t, "there is no PrometheusRule")
}

func TestTheSettingsAreThoseOfTheDocumentation(t *testing.T) {
	copied(t, "settings.txt", strings.Join(settings(t), "\n")+"\n")
}

var setting = regexp.MustCompile("(?m)^\\| `--[a-z0-9-]+` \\| `(LIVEGRAPH_[A-Z_]+)` \\| (?:`(.*?)`)?")

// settings returns the variables of docs/settings.md.
func settings(t *testing.T) (names []string) {
	t.Helper()
	for _, m := range setting.FindAllStringSubmatch(read(t, top+"/docs/settings.md"), -1) {
		names = append(names, m[1])
	}
	require.Greater(t, len(names), 100)
	return names
}

// settingDefault returns the default of a setting.
func settingDefault(t *testing.T, name string) string {
	t.Helper()
	for _, m := range setting.FindAllStringSubmatch(read(t, top+"/docs/settings.md"), -1) {
		if m[1] == name {
			return m[2]
		}
	}
	require.Fail(t, "no such setting", name)
	return ""
}
