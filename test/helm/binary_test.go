package helm

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	core "k8s.io/api/core/v1"
)

// secretURLs are the contents of Secrets that are not passwords.
var secretURLs = map[string]string{
	"LIVEGRAPH_CLICKHOUSE_URL":  "clickhouse://u:canary@h:9000/d",
	"LIVEGRAPH_POSTGRES_URL":    "postgres://u:canary@h:5432/d",
	"LIVEGRAPH_REDIS_URL":       "redis://:canary@h:6379/0",
	"LIVEGRAPH_TRACING_HEADERS": "k=canary",
}

// environment returns the variables of a container as its process has them: with the contents of Secrets, and
// references to other variables replaced.
func environment(c *core.Container) (list []string) {
	known := map[string]string{}
	for _, v := range c.Env {
		value := reference.ReplaceAllStringFunc(v.Value, func(r string) string { return known[strings.Trim(r, "$()")] })
		if v.ValueFrom != nil {
			if value = secretURLs[v.Name]; value == "" {
				value = "canary"
			}
		}
		known[v.Name] = value
		list = append(list, v.Name+"="+value)
	}
	return list
}

// TestLivegraphAcceptsTheSettings runs Livegraph with the variables of each container. It checks the settings as at a
// start, and prints them.
func TestLivegraphAcceptsTheSettings(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "livegraph")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", binary, "./cmd/livegraph")
	build.Dir = "../.."
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	config := func(variables []string) (string, error) {
		command := exec.CommandContext(t.Context(), binary, "config")
		command.Env, command.Dir = append([]string{}, variables...), t.TempDir()
		printed, err := command.CombinedOutput()
		return string(printed), err
	}
	for _, name := range cases {
		found := workloads(objects(t, valuesOf(t, name)))
		require.GreaterOrEqual(t, len(found), 5)
		for _, w := range found {
			variables := environment(&w.template.Spec.Containers[0])
			printed, err := config(variables)
			require.NoError(t, err, "%s %s: %s", name, w.name, printed)
			if name == "everything" && w.kind != "Job" {
				require.Contains(t, printed, "2000000", w.name)
			}
			_, err = config(append(variables, "LIVEGRAPH_ROLES=none"))
			require.Error(t, err, "a wrong setting is refused")
		}
	}
}
